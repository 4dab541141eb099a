"""Transactions byte for byte: what producers of each generation send, what readers are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from headrace.codecs.kafka.generated.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from headrace.model.topic import TRANSACTION_STATE_TOPIC
from headrace.testing import Broker
from tests.wire.calls import PRODUCE, batch, produce_request
from tests.wire.transactional_producer import COMMITTED, Producer, committed, latest

if TYPE_CHECKING:
    from tests.wire.raw_client import RawClient

DELETE_RECORDS = 21
INVALID_EPOCH, INVALID_STATE, INVALID_MAPPING, REFUSED, FENCED = 47, 48, 49, 53, 90
INVALID_TOPIC, ABORTABLE = 17, 120


@pytest.fixture
def topic(headrace_broker: Broker) -> str:
    return headrace_broker.create_topic(f"txn-{uuid4().hex[:8]}", 3)


@pytest.fixture
def producer(headrace_broker: Broker) -> Any:
    producer = Producer(headrace_broker.port, f"id-{uuid4().hex[:8]}")
    with producer.client:
        yield producer


@pytest.mark.parametrize("version", [9, 11, 12])
def test_commit_shows_what_was_written(
    client: RawClient, producer: Producer, topic: str, version: int
) -> None:
    if version < 12:
        assert producer.add(topic, 0, 1, 2) == 0
    assert producer.send(topic, {0: b"a", 1: b"b", 2: b"c"}, version) == {0}
    assert committed(client, topic) == ([], [])
    assert (latest(client, topic, COMMITTED), latest(client, topic, 0)) == (0, 1)
    assert producer.end(is_commit=True, version=5 if version == 12 else 3) == 0
    assert [committed(client, topic, index) for index in range(3)] == [
        ([b"a"], []),
        ([b"b"], []),
        ([b"c"], []),
    ]
    assert latest(client, topic, COMMITTED) == latest(client, topic, 0) == 2


def test_readers_are_told_what_was_aborted(
    client: RawClient, producer: Producer, topic: str
) -> None:
    producer_id = producer.identity[0]
    assert producer.send(topic, {0: b"a"}, 12) == {0}
    assert producer.end(is_commit=False) == 0
    assert producer.send(topic, {0: b"b"}, 12) == {0}
    assert producer.end(is_commit=True) == 0
    assert committed(client, topic) == ([b"a", b"b"], [(producer_id, 0)])


def test_readers_are_not_told_what_was_aborted_behind_their_answer(
    client: RawClient, producer: Producer, topic: str
) -> None:
    producer_id = producer.identity[0]
    for value in (b"a", b"b", b"c"):
        assert producer.send(topic, {0: value}, 12) == {0}
        assert producer.end(is_commit=False) == 0
    everything = [(producer_id, 0), (producer_id, 2), (producer_id, 4)]
    assert committed(client, topic) == ([b"a", b"b", b"c"], everything)
    first_only = committed(client, topic, partition_max_bytes=1)
    assert first_only == ([b"a"], everything[:1])


@pytest.mark.parametrize(("version", "code"), [(9, INVALID_STATE), (11, ABORTABLE)])
def test_partition_that_was_not_added_is_refused(
    client: RawClient, producer: Producer, topic: str, version: int, code: int
) -> None:
    assert producer.add(topic, 1) == 0
    assert producer.send(topic, {0: b"a", 1: b"b"}, version) == {0, code}
    assert producer.send(topic, {2: b"late"}, version) == {code}
    assert producer.end(is_commit=True, version=3) == 0
    assert producer.send(topic, {1: b"late"}, version, sequence=1) == {code}
    assert [latest(client, topic, isolation) for isolation in (0, COMMITTED)] == [0, 0]
    assert committed(client, topic, 1) == ([b"b"], [])


def test_partitions_of_a_request_are_added_together(
    headrace_broker: Broker, producer: Producer, topic: str
) -> None:
    def state_records() -> int:
        return headrace_broker.call(
            lambda server: sum(
                partition.log.log_end_offset
                for partition in server.broker.topics.partitions(TRANSACTION_STATE_TOPIC) or ()
            )
        )

    before = state_records()
    assert producer.send(topic, {0: b"a", 1: b"b", 2: b"c"}, 12) == {0}
    assert producer.send(topic, {0: b"d"}, 12, sequence=1) == {0}
    assert state_records() == before + 1
    assert producer.end(is_commit=True) == 0
    assert state_records() == before + 2


@pytest.mark.parametrize("version", [9, 12])
def test_fenced_producer_writes_nothing(
    client: RawClient, headrace_broker: Broker, producer: Producer, topic: str, version: int
) -> None:
    assert producer.send(topic, {0: b"old"}, 12) == {0}
    successor = Producer(headrace_broker.port, producer.transactional_id)
    with successor.client:
        assert producer.send(topic, {0: b"zombie"}, version, sequence=1) == {INVALID_EPOCH}
        assert producer.send(topic, {1: b"zombie"}, version) == {INVALID_EPOCH}
        assert producer.end(is_commit=True) == FENCED
        assert producer.end(is_commit=True, version=1) == INVALID_EPOCH
        assert successor.send(topic, {0: b"new"}, 12) == {0}
        assert successor.end(is_commit=True) == 0
    values, aborted = committed(client, topic)
    assert values == [b"old", b"new"]
    assert aborted == [(producer.identity[0], 0)]


def test_transaction_of_somebody_else_is_refused(
    client: RawClient, headrace_broker: Broker, producer: Producer, topic: str
) -> None:
    assert producer.send(topic, {0: b"a"}, 12) == {0}
    stranger = Producer(headrace_broker.port, f"id-{uuid4().hex[:8]}")
    with stranger.client:
        stranger.transactional_id = producer.transactional_id
        assert stranger.send(topic, {0: b"b"}, 12) == {INVALID_MAPPING}
        assert stranger.end(is_commit=True) == INVALID_MAPPING
    assert committed(client, topic) == ([], [])


def test_batch_outside_of_the_open_transaction_is_refused(
    client: RawClient, producer: Producer, topic: str
) -> None:
    assert producer.send(topic, {0: b"a"}, 12) == {0}
    producer_id, epoch = producer.identity
    plain = batch(b"x", producer_id=producer_id, producer_epoch=epoch, base_sequence=1)
    answer = client.call(PRODUCE, 12, produce_request(topic, {0: plain}))
    assert answer.responses[0].partition_responses[0].error_code == INVALID_STATE


def test_flag_without_a_transactional_id_is_refused(client: RawClient, topic: str) -> None:
    flagged = batch(b"x", producer_id=1, producer_epoch=0, base_sequence=0, transactional=True)
    request = produce_request(topic, {0: flagged, 1: batch(b"plain")})
    answer = client.call(PRODUCE, 12, request)
    codes = {p.index: p.error_code for p in answer.responses[0].partition_responses}
    assert codes == {0: REFUSED, 1: 0}


def test_first_client_of_a_new_broker_need_not_try_again() -> None:
    with Broker() as broker:
        Producer(broker.port, "first").client.socket.close()


def test_topics_of_the_coordinators_are_not_for_clients(producer: Producer) -> None:
    assert producer.send(TRANSACTION_STATE_TOPIC, {0: b"x"}, 12) == {INVALID_TOPIC}


def test_end_for_readers_is_never_before_the_start_of_the_log(
    client: RawClient, producer: Producer, topic: str
) -> None:
    assert producer.send(topic, {0: b"open"}, 12) == {0}
    whole = DeleteRecordsTopic(topic, [DeleteRecordsPartition(0, -1)])
    answer = client.call(DELETE_RECORDS, 2, DeleteRecordsRequest([whole], 1000))
    assert answer.topics[0].partitions[0].low_watermark == 1
    assert latest(client, topic, COMMITTED) == 1
    assert producer.end(is_commit=True) == 0
    assert latest(client, topic, COMMITTED) == 2


def test_time_out_wakes_the_readers(client: RawClient, headrace_broker: Broker, topic: str) -> None:
    slow = Producer(headrace_broker.port, f"id-{uuid4().hex[:8]}", timeout_ms=300)
    with slow.client:
        assert slow.send(topic, {0: b"late"}, 12) == {0}
        values, aborted = committed(client, topic, max_wait_ms=8_000, min_bytes=1)
        assert values == [b"late"]
        assert aborted == [(slow.identity[0], 0)]
        assert slow.end(is_commit=True) == FENCED


def test_large_request_in_turns_is_one_transaction(
    client: RawClient, producer: Producer, topic: str
) -> None:
    large = bytes(700_000)
    assert producer.send(topic, {0: large, 1: large, 2: large}, 12) == {0}
    assert producer.end(is_commit=True) == 0
    for index in range(3):
        assert committed(client, topic, index, partition_max_bytes=2_000_000) == ([large], [])
