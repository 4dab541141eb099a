from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import KafkaError, KafkaException

from headrace.model.errors import AuthorizationFailed, RecordTooLarge
from headrace.pipeline.errors import TopicMissing
from headrace.pipeline.sink import producing
from headrace.pipeline.sink.columns import PARTITION_ANY, to_staged
from headrace.pipeline.sink.errors import DeliveryFailed, InvalidSinkRow
from headrace.pipeline.sink.producing import ROWS_AT_ONCE, check_topics, produce_rows


class FakeProducer:
    """Takes ``room`` records between two polls."""

    def __init__(self, room: int = 10**9, polls_needed: int = 1) -> None:
        self.records: list[tuple[Any, ...]] = []
        self._room = self._left = room
        self._polls_needed = polls_needed
        self._polls = 0
        self.topics: dict[str, list[SimpleNamespace]] = {}
        self.failure: KafkaException | None = None

    def produce(
        self,
        topic: str,
        value: Any,
        key: Any,
        partition: int,
        callback: None,
        on_delivery: None,
        timestamp: int,
        headers: Any,
    ) -> None:
        assert timestamp == 0
        if self.failure is not None:
            raise self.failure
        if self._left == 0:
            raise BufferError
        self._left -= 1
        self.records.append((topic, value, key, partition, headers))

    def poll(self, seconds: float) -> None:
        self._polls += 1
        if self._polls % self._polls_needed == 0:
            self._left = self._room

    def list_topics(self, topic: str, timeout: float) -> SimpleNamespace:
        answers = self.topics[topic]
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        return SimpleNamespace(topics={topic: answer})


def staged(count: int = 3) -> pa.RecordBatch:
    return to_staged(pa.record_batch({"value": pa.array([b"%d" % i for i in range(count)])}), "t")


def test_rows_become_records() -> None:
    producer = FakeProducer()
    header = pa.struct([("key", pa.string()), ("value", pa.binary())])
    batch = pa.record_batch(
        {
            "key": pa.array(["k", None]),
            "value": pa.array([None, b"v"]),
            "partition": pa.array([None, 3], pa.int32()),
            "headers": pa.array([[("h", b"1"), ("h", None)], []], pa.list_(header)),
        }
    )
    produce_rows(producer, to_staged(batch, "t"), 1.0)  # type: ignore[arg-type]
    assert producer.records == [
        ("t", None, b"k", PARTITION_ANY, [("h", b"1"), ("h", None)]),
        ("t", b"v", None, 3, None),
    ]


def test_more_rows_than_are_python_objects_at_once() -> None:
    producer = FakeProducer()
    count = 2 * ROWS_AT_ONCE + 1
    produce_rows(producer, staged(count), 1.0)  # type: ignore[arg-type]
    assert [record[1] for record in producer.records] == [b"%d" % i for i in range(count)]


def test_a_full_queue_is_waited_for_and_nothing_is_sent_twice() -> None:
    producer = FakeProducer(room=2, polls_needed=3)
    produce_rows(producer, staged(7), 10.0)  # type: ignore[arg-type]
    assert [record[1] for record in producer.records] == [b"%d" % i for i in range(7)]


def test_a_queue_that_stays_full_is_an_error() -> None:
    producer = FakeProducer(room=1, polls_needed=10**9)
    with pytest.raises(DeliveryFailed, match="taken nothing"):
        produce_rows(producer, staged(), 0.01)  # type: ignore[arg-type]


def test_a_record_too_large_has_a_name() -> None:
    producer = FakeProducer()
    producer.failure = KafkaException(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE))
    with pytest.raises(RecordTooLarge, match="a record for t"):
        produce_rows(producer, staged(), 1.0)  # type: ignore[arg-type]


def answer(partitions: int = 0, code: int | None = None) -> SimpleNamespace:
    error = None if code is None else KafkaError(code)
    return SimpleNamespace(error=error, partitions=dict.fromkeys(range(partitions)))


def test_partitions_that_do_not_exist_are_refused() -> None:
    producer = FakeProducer()
    producer.topics = {"t": [answer(4)]}
    check_topics(producer, {"t": 3})  # type: ignore[arg-type]
    with pytest.raises(InvalidSinkRow, match="holds 4, but t has 4 partitions"):
        check_topics(producer, {"t": 4})  # type: ignore[arg-type]


def test_a_topic_that_is_being_created_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(producing, "METADATA_PAUSE_SECONDS", 0)
    producer = FakeProducer()
    producer.topics = {"t": [answer(code=KafkaError.LEADER_NOT_AVAILABLE), answer(), answer(1)]}
    check_topics(producer, {"t": PARTITION_ANY})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("code", "error", "text"),
    [
        (KafkaError.UNKNOWN_TOPIC_OR_PART, TopicMissing, "topic t does not exist"),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, AuthorizationFailed, "topic t"),
    ],
)
def test_a_topic_that_cannot_be_written_is_named(
    code: int, error: type[Exception], text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(producing, "METADATA_PAUSE_SECONDS", 0)
    producer = FakeProducer()
    producer.topics = {"t": [answer(code=code)]}
    with pytest.raises(error, match=text):
        check_topics(producer, {"t": PARTITION_ANY})  # type: ignore[arg-type]
