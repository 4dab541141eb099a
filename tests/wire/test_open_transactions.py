"""What everybody sees of a transaction that is open, and how an operator ends one that hangs."""

from __future__ import annotations

from time import time
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from headrace.codecs.kafka.generated.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from headrace.codecs.kafka.generated.describe_producers import (
    DescribeProducersRequest,
    TopicRequest,
)
from headrace.codecs.kafka.generated.init_producer_id import InitProducerIdRequest
from headrace.codecs.kafka.generated.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from headrace.storage.log_port import Origin
from headrace.testing import Broker
from tests.wire.calls import batch, produce
from tests.wire.raw_client import RawClient
from tests.wire.transactional_producer import (
    COMMITTED,
    INIT_PRODUCER_ID,
    Producer,
    committed,
    latest,
    offset_at,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

DELETE_RECORDS, WRITE_TXN_MARKERS, DESCRIBE_PRODUCERS = 21, 27, 61
OUT_OF_RANGE, INVALID_EPOCH, INVALID_TIMEOUT, COORDINATOR_FENCED = 1, 47, 50, 52
UNCOMMITTED = 0
HIGHEST = -3
NOBODY = -1
TIMEOUT_MS_MAX = 900_000
"""The default of transaction.max.timeout.ms."""


@pytest.fixture
def topic(headrace_broker: Broker) -> str:
    return headrace_broker.create_topic(f"open-{uuid4().hex[:8]}")


@pytest.fixture
def producer(headrace_broker: Broker) -> Iterator[Producer]:
    producer = Producer(headrace_broker.port, f"id-{uuid4().hex[:8]}")
    with producer.client:
        yield producer


def deleted(client: RawClient, topic: str, offset: int) -> tuple[int, int]:
    """(code, where the partition begins)"""
    wanted = DeleteRecordsTopic(topic, [DeleteRecordsPartition(0, offset)])
    answer = client.call(DELETE_RECORDS, 2, DeleteRecordsRequest([wanted], 1000))
    partition = answer.topics[0].partitions[0]
    return partition.error_code, partition.low_watermark


def described(client: RawClient, topic: str) -> list[Any]:
    request = DescribeProducersRequest([TopicRequest(topic, [0])])
    (partition,) = client.call(DESCRIBE_PRODUCERS, 0, request).topics[0].partitions
    assert partition.error_code == 0
    return list(partition.active_producers)


def aborted(client: RawClient, topic: str, producer_id: int, epoch: int) -> int:
    """As Kafka's admin client ends a transaction that hangs."""
    marker = WritableTxnMarker(producer_id, epoch, False, [WritableTxnMarkerTopic(topic, [0])], 0)
    answer = client.call(WRITE_TXN_MARKERS, 1, WriteTxnMarkersRequest([marker]))
    code: int = answer.markers[0].topics[0].partitions[0].error_code
    return code


def test_latest_and_timestamps_end_at_the_open_transaction(
    client: RawClient, producer: Producer, topic: str
) -> None:
    now_ms = int(time() * 1000)
    old_ms = now_ms - 60_000
    assert produce(client, topic, {0: batch(b"a", timestamp_ms=old_ms)})[0].error_code == 0
    assert producer.send(topic, {0: b"open"}, 12) == {0}
    assert (latest(client, topic, UNCOMMITTED), latest(client, topic, COMMITTED)) == (2, 1)
    for isolation in (UNCOMMITTED, COMMITTED):
        assert offset_at(client, topic, old_ms, isolation) == 0
    for wanted_ms in (old_ms + 1, HIGHEST):
        assert offset_at(client, topic, wanted_ms, UNCOMMITTED) == 1
        assert offset_at(client, topic, wanted_ms, COMMITTED) == NOBODY
    assert producer.end(is_commit=True) == 0
    assert offset_at(client, topic, old_ms + 1, COMMITTED) == 1
    assert latest(client, topic, COMMITTED) == 3


def test_records_are_deleted_up_to_the_high_watermark_and_no_further(
    client: RawClient, producer: Producer, topic: str
) -> None:
    assert producer.send(topic, {0: b"open"}, 12) == {0}
    assert deleted(client, topic, 2)[0] == OUT_OF_RANGE
    assert deleted(client, topic, 1) == (0, 1)
    assert producer.end(is_commit=True) == 0
    assert deleted(client, topic, 3)[0] == OUT_OF_RANGE
    assert deleted(client, topic, 2) == (0, 2)


@pytest.mark.parametrize(
    ("timeout_ms", "code"),
    [
        (TIMEOUT_MS_MAX, 0),
        (TIMEOUT_MS_MAX + 1, INVALID_TIMEOUT),
        (0, INVALID_TIMEOUT),
        (-1, INVALID_TIMEOUT),
    ],
)
def test_transaction_may_not_stay_open_for_as_long_as_one_likes(
    client: RawClient, timeout_ms: int, code: int
) -> None:
    request = InitProducerIdRequest(f"slow-{uuid4().hex}", timeout_ms)
    assert client.call(INIT_PRODUCER_ID, 5, request).error_code == code


def test_limit_of_the_time_out_is_the_operators() -> None:
    with (
        Broker({"transaction.max.timeout.ms": "5000"}) as broker,
        RawClient(broker.port) as client,
    ):
        for timeout_ms, code in ((5_000, 0), (5_001, INVALID_TIMEOUT)):
            request = InitProducerIdRequest("x", timeout_ms)
            assert client.call(INIT_PRODUCER_ID, 5, request).error_code == code


def test_producer_is_described_with_its_open_transaction(
    client: RawClient, producer: Producer, topic: str
) -> None:
    assert produce(client, topic, {0: batch(b"a")})[0].error_code == 0
    assert producer.send(topic, {0: b"open"}, 12) == {0}
    (found,) = described(client, topic)
    assert (found.producer_id, found.producer_epoch) == producer.identity
    assert (found.current_txn_start_offset, found.last_sequence) == (1, 0)
    assert producer.end(is_commit=False) == 0
    (found,) = described(client, topic)
    assert found.current_txn_start_offset == NOBODY


def leave_hanging(broker: Broker, topic: str, producer_id: int, epoch: int) -> None:
    """As if the coordinator's record had been lost: the log alone knows of it."""
    data = bytearray(
        batch(
            b"hanging",
            timestamp_ms=int(time() * 1000),
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=0,
            transactional=True,
        )
    )

    def append(server: Any) -> None:
        log = server.broker.topics.partition(topic, 0).log
        server.broker.logs.append([(log, data)], origin=Origin.COORDINATOR)

    broker.call(append)


def test_operator_aborts_what_hangs(client: RawClient, headrace_broker: Broker, topic: str) -> None:
    leave_hanging(headrace_broker, topic, 4_000_000, epoch=2)
    assert produce(client, topic, {0: batch(b"behind it")})[0].error_code == 0
    assert committed(client, topic) == ([], [])
    (found,) = described(client, topic)
    assert found.current_txn_start_offset == 0
    assert aborted(client, topic, found.producer_id, found.producer_epoch - 1) == INVALID_EPOCH
    assert committed(client, topic) == ([], [])
    assert aborted(client, topic, found.producer_id, found.producer_epoch) == 0
    assert committed(client, topic) == ([b"hanging", b"behind it"], [(4_000_000, 0)])
    assert latest(client, topic, COMMITTED) == latest(client, topic, UNCOMMITTED) == 3
    assert aborted(client, topic, found.producer_id, found.producer_epoch) == 0
    assert latest(client, topic, UNCOMMITTED) == 3


def test_operator_leaves_to_the_coordinator_what_is_its_own(
    client: RawClient, producer: Producer, topic: str
) -> None:
    assert producer.send(topic, {0: b"open"}, 12) == {0}
    assert aborted(client, topic, *producer.identity) == COORDINATOR_FENCED
    assert producer.end(is_commit=True) == 0
    assert committed(client, topic) == ([b"open"], [])
