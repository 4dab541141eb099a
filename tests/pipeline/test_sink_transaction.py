"""Transactions of the sink on a real broker, interrupted at every step. Without Spark."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pytest
from confluent_kafka import KafkaException

from headrace.pipeline.errors import BrokerUnreachable, TopicMissing
from headrace.pipeline.sink.direct import send
from headrace.pipeline.sink.errors import (
    InvalidSinkRow,
    SinkAheadOfCheckpoint,
    SinkFenced,
    StagedRowsMissing,
)
from headrace.pipeline.sink.ledger import Ledger
from headrace.pipeline.sink.staging import StagedPiece, stage
from headrace.pipeline.sink.transaction import TransactionalSink, write_next
from headrace.testing import Broker

from .committed import committed, values

_names = itertools.count()


class Output:
    """A topic of its own, and a sink of its own to write it with."""

    def __init__(self, broker: Broker) -> None:
        number = next(_names)
        self.bootstrap = broker.bootstrap_servers
        self.topic = broker.create_topic(f"transaction-{number}", 3)
        self.sink_id = f"sink-{number}"
        self.kafka = {"bootstrap.servers": self.bootstrap}

    def open(self) -> TransactionalSink:
        return TransactionalSink(self.kafka, self.sink_id)

    def piece(self, *rows: bytes | None, partition: int | None = None) -> StagedPiece:
        batch = pa.record_batch(
            {
                "value": pa.array(rows, pa.binary()),
                "partition": pa.array([partition] * len(rows), pa.int32()),
            }
        )
        return stage([batch], self.topic, "", 1_000_000)

    def values(self) -> list[bytes | None]:
        return values(self.bootstrap, self.topic)


@pytest.fixture
def output(broker: Broker) -> Output:
    return Output(broker)


def test_a_batch_is_written_once(output: Output) -> None:
    pieces = [output.piece(b"a", b"b"), output.piece(b"c")]
    assert output.open().write(pieces, 0) is True
    assert output.open().write(pieces, 0) is False
    assert output.open().write([output.piece(b"d")], 1) is True
    assert output.values() == [b"a", b"b", b"c", b"d"]


def test_an_open_sink_knows_what_it_has_written(output: Output) -> None:
    for _ in range(2):
        write_next(output.kafka, output.sink_id, [output.piece(b"a")], 5)
    write_next(output.kafka, output.sink_id, [output.piece(b"b")], 6)
    assert output.values() == [b"a", b"b"]


def test_null_is_a_tombstone_and_partitions_are_kept(output: Output) -> None:
    output.open().write([output.piece(None, b"x", partition=2)], 0)
    found = committed(output.bootstrap, output.topic)
    assert [(m.partition(), m.value()) for m in found] == [(2, None), (2, b"x")]


@pytest.mark.parametrize("step", ["_send", "_commit"])
def test_a_run_that_dies_before_its_commit_leaves_nothing(
    output: Output, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    dying = output.open()
    monkeypatch.setattr(dying, step, _die)
    with pytest.raises(KeyboardInterrupt):
        dying.write([output.piece(b"a")], 0)
    assert output.values() == []
    assert output.open().write([output.piece(b"a")], 0) is True
    assert output.values() == [b"a"]


def _die(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_run_that_dies_right_after_its_commit_is_not_repeated(
    output: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    dying = output.open()
    commit = dying._commit

    def commit_and_die(started: float) -> None:
        commit(started)
        raise KeyboardInterrupt

    monkeypatch.setattr(dying, "_commit", commit_and_die)
    with pytest.raises(KeyboardInterrupt):
        dying.write([output.piece(b"a")], 0)
    assert output.open().write([output.piece(b"another order of a")], 0) is False
    assert output.values() == [b"a"]


def test_an_older_run_that_is_still_alive_writes_nothing(output: Output) -> None:
    older = output.open()
    older.write([output.piece(b"a")], 0)
    older._producer.begin_transaction()
    older._producer.produce(output.topic, b"late")
    older._producer.flush()
    newer = output.open()
    with pytest.raises(KafkaException):
        older._producer.commit_transaction(10)
    assert newer.write([output.piece(b"b")], 1) is True
    with pytest.raises(SinkFenced):
        older.write([output.piece(b"b")], 1)
    assert output.values() == [b"a", b"b"]


def test_a_checkpoint_older_than_the_output_is_refused(output: Output) -> None:
    output.open().write([output.piece(b"a")], 7)
    with pytest.raises(SinkAheadOfCheckpoint, match=r"batch 6 .* has written batch 7"):
        output.open().write([output.piece(b"b")], 6)
    assert output.values() == [b"a"]


def test_what_is_wrong_is_found_before_anything_is_written(output: Output) -> None:
    good, bad = output.piece(b"a"), output.piece(b"b", partition=3)
    with pytest.raises(InvalidSinkRow, match="has 3 partitions"):
        output.open().write([good, bad], 0)
    assert output.values() == []


def test_staged_rows_that_are_gone_undo_the_batch(output: Output) -> None:
    gone = output.piece(b"b")._replace(data=None, url="/nowhere/at/all.arrow")
    sink = output.open()
    with pytest.raises(StagedRowsMissing):
        sink.write([output.piece(b"a"), gone], 0)
    assert sink.write([output.piece(b"a")], 0) is True
    assert output.values() == [b"a"]


def test_sinks_do_not_know_each_other(output: Output) -> None:
    output.open().write([output.piece(b"a")], 3)
    assert Ledger(output.kafka, "headrace-sink-unheard-of").last_batch is None
    assert Ledger(output.kafka, f"headrace-sink-{output.sink_id}").last_batch == 3


def test_a_topic_that_nobody_creates_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headrace.pipeline.sink.producing.METADATA_PAUSE_SECONDS", 0)
    with Broker({"auto.create.topics.enable": "false"}) as broker:
        lost = Output(broker)
        piece = lost.piece(b"a")._replace(topics={"nobody": -1})
        with pytest.raises(TopicMissing, match="topic nobody"):
            lost.open().write([piece], 0)


def test_no_broker_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headrace.pipeline.sink.transaction.OPEN_SECONDS_MAX", 0.5)
    with pytest.raises(BrokerUnreachable, match="opening the sink"):
        TransactionalSink({"bootstrap.servers": "127.0.0.1:1"}, "x")


def test_at_least_once_sends_everything(output: Output) -> None:
    batches = [pa.record_batch({"value": pa.array([b"%d" % i])}) for i in range(3)]
    assert send(batches, output.topic, output.kafka) == 3
    assert output.values() == [b"0", b"1", b"2"]


def test_at_least_once_refuses_partitions_that_do_not_exist(output: Output) -> None:
    batch = pa.record_batch({"value": pa.array([b""]), "partition": pa.array([9], pa.int32())})
    with pytest.raises(InvalidSinkRow):
        send([batch], output.topic, output.kafka)


def test_a_sink_that_nobody_opens_again_is_not_remembered(output: Output) -> None:
    sink = TransactionalSink(output.kafka, output.sink_id, is_repeatable=False)
    assert sink.write([output.piece(b"a")], 0) is True
    assert Ledger(output.kafka, f"headrace-sink-{output.sink_id}").last_batch is None
    assert output.values() == [b"a"]
