"""Offsets in transactions over real sockets: both generations of the protocol, and a restart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from headrace.codecs.kafka.generated.add_offsets_to_txn import AddOffsetsToTxnRequest
from headrace.codecs.kafka.generated.describe_producers import (
    DescribeProducersRequest,
    TopicRequest,
)
from headrace.codecs.kafka.generated.end_txn import EndTxnRequest
from headrace.codecs.kafka.generated.init_producer_id import InitProducerIdRequest
from headrace.codecs.kafka.generated.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from headrace.codecs.kafka.generated.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from headrace.codecs.kafka.generated.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from headrace.testing import Broker
from tests.wire.raw_client import RawClient

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OFFSET_COMMIT = 8
OFFSET_FETCH, INIT_PRODUCER_ID, ADD_OFFSETS, END_TXN, TXN_OFFSET_COMMIT = 9, 22, 25, 26, 28
DESCRIBE_PRODUCERS = 61
INVALID_EPOCH, INVALID_STATE, UNSTABLE, ABORTABLE = 47, 48, 88, 120
METADATA_TOO_LARGE, INVALID_GROUP_ID, COMMIT_TOO_LARGE = 12, 24, 28
METADATA_BYTES_MAX = 4096
"""The default of offset.metadata.max.bytes."""
OLD, NEW = 3, 5
"""Versions of TxnOffsetCommit: with the group added beforehand, and added by the commit itself."""
GENERATIONS = pytest.mark.parametrize("version", [OLD, NEW])


@pytest.fixture
def client() -> Iterator[RawClient]:
    """Of a broker of its own: ids and groups are the same in every test."""
    with Broker() as broker, RawClient(broker.port) as client:
        broker.create_topic("t")
        yield client


class Producer(NamedTuple):
    client: RawClient
    producer_id: int
    epoch: int

    def add_group(self, group_id: str = "g") -> int:
        request = AddOffsetsToTxnRequest("x", self.producer_id, self.epoch, group_id)
        code: int = self.client.call(ADD_OFFSETS, 3, request).error_code
        return code

    def commit(self, offset: int, version: int, *, group_id: str = "g", metadata: str = "") -> int:
        partitions = [TxnOffsetCommitRequestPartition(0, offset, committed_metadata=metadata)]
        request = TxnOffsetCommitRequest(
            "x",
            group_id,
            self.producer_id,
            self.epoch,
            topics=[TxnOffsetCommitRequestTopic("t", partitions)],
        )
        response = self.client.call(TXN_OFFSET_COMMIT, version, request)
        code: int = response.topics[0].partitions[0].error_code
        return code

    def end(self, version: int, *, is_commit: bool) -> Producer:
        request = EndTxnRequest("x", self.producer_id, self.epoch, is_commit)
        response = self.client.call(END_TXN, version, request)
        assert response.error_code == 0
        if version < NEW:
            return self
        return Producer(self.client, response.producer_id, response.producer_epoch)


def begin(client: RawClient) -> Producer:
    answer = client.call(INIT_PRODUCER_ID, 4, InitProducerIdRequest("x", 60_000))
    assert answer.error_code == 0
    return Producer(client, answer.producer_id, answer.producer_epoch)


def fetch(client: RawClient) -> tuple[int, int]:
    """(code, offset), stable or not at all."""
    group = OffsetFetchRequestGroup(
        "g", topics=[OffsetFetchRequestTopics(name="t", partition_indexes=[0])]
    )
    request = OffsetFetchRequest(groups=[group], require_stable=True)
    response = client.call(OFFSET_FETCH, 9, request)
    found = response.groups[0].topics[0].partitions[0]
    return found.error_code, found.committed_offset


def open_transactions(client: RawClient) -> list[Any]:
    """Producers with a transaction open in any partition of the groups' topic."""
    topic = TopicRequest("__consumer_offsets", list(range(50)))
    response = client.call(DESCRIBE_PRODUCERS, 0, DescribeProducersRequest([topic]))
    return [
        producer
        for partition in response.topics[0].partitions
        for producer in partition.active_producers
        if producer.current_txn_start_offset >= 0
    ]


@GENERATIONS
def test_offset_counts_when_the_transaction_commits(client: RawClient, version: int) -> None:
    producer = begin(client)
    if version == OLD:
        assert producer.add_group() == 0
    assert producer.commit(5, version) == 0
    assert fetch(client) == (UNSTABLE, -1)
    assert [each.producer_id for each in open_transactions(client)] == [producer.producer_id]
    producer = producer.end(version, is_commit=True)
    assert fetch(client) == (0, 5)
    assert open_transactions(client) == []
    if version == OLD:
        assert producer.add_group() == 0
    assert producer.commit(9, version) == 0
    producer.end(version, is_commit=False)
    assert fetch(client) == (0, 5)


@GENERATIONS
def test_open_transaction_survives_a_restart(tmp_path: Path, version: int) -> None:
    with Broker(directory=str(tmp_path)) as broker, RawClient(broker.port) as client:
        broker.create_topic("t")
        producer = begin(client)
        if version == OLD:
            assert producer.add_group() == 0
        assert producer.commit(5, version) == 0
    with Broker(directory=str(tmp_path)) as broker, RawClient(broker.port) as client:
        assert fetch(client) == (UNSTABLE, -1)
        producer._replace(client=client).end(version, is_commit=True)
        assert fetch(client) == (0, 5)


@pytest.mark.parametrize(("version", "code"), [(3, INVALID_STATE), (4, ABORTABLE)])
def test_group_must_have_been_added_by_older_clients(
    client: RawClient, version: int, code: int
) -> None:
    assert begin(client).commit(5, version) == code
    assert fetch(client) == (0, -1)


@GENERATIONS
def test_replaced_producer_commits_nothing(client: RawClient, version: int) -> None:
    zombie = begin(client)
    if version == OLD:
        assert zombie.add_group() == 0
    assert zombie.commit(5, version) == 0
    successor = begin(client)
    assert fetch(client) == (0, -1)
    assert zombie.commit(6, version) == INVALID_EPOCH
    if version == OLD:
        assert successor.add_group() == 0
    assert successor.commit(7, version) == 0
    assert zombie.commit(8, version) == INVALID_EPOCH
    successor.end(version, is_commit=True)
    assert fetch(client) == (0, 7)


@GENERATIONS
def test_group_without_a_name_is_refused(client: RawClient, version: int) -> None:
    producer = begin(client)
    assert producer.add_group("") == INVALID_GROUP_ID
    assert producer.commit(5, version, group_id="") == INVALID_GROUP_ID
    assert open_transactions(client) == []


@GENERATIONS
def test_metadata_longer_than_allowed_is_refused(client: RawClient, version: int) -> None:
    producer = begin(client)
    if version == OLD:
        assert producer.add_group() == 0
    too_long = "x" * (METADATA_BYTES_MAX + 1)
    assert producer.commit(5, version, metadata=too_long) == METADATA_TOO_LARGE
    assert fetch(client) == (0, -1)
    assert producer.commit(6, version, metadata=too_long[1:]) == 0
    producer.end(version, is_commit=True)
    assert fetch(client) == (0, 6)


@GENERATIONS
def test_commit_that_fits_into_no_batch_is_refused(version: int) -> None:
    settings = {"message.max.bytes": "1000", "offset.metadata.max.bytes": "2000"}
    with Broker(settings) as broker, RawClient(broker.port) as client:
        broker.create_topic("t")
        producer = begin(client)
        if version == OLD:
            assert producer.add_group() == 0
        assert producer.commit(5, version, metadata="x" * 1000) == COMMIT_TOO_LARGE
        assert fetch(client) == (0, -1)
        assert producer.commit(6, version, metadata="x" * 800) == 0
        producer.end(version, is_commit=True)
        assert fetch(client) == (0, 6)


@pytest.mark.parametrize("version", [2, 8, 9])
def test_plain_commit_has_the_same_limits(version: int) -> None:
    settings = {"message.max.bytes": "1000", "offset.metadata.max.bytes": "2000"}
    with Broker(settings) as broker, RawClient(broker.port) as client:
        broker.create_topic("t", 2)

        def commit(*metadata: str) -> list[int]:
            partitions = [
                OffsetCommitRequestPartition(index, 7, committed_metadata=each)
                for index, each in enumerate(metadata)
            ]
            topics = [OffsetCommitRequestTopic("t", partitions=partitions)]
            answer = client.call(OFFSET_COMMIT, version, OffsetCommitRequest("g", topics=topics))
            return [each.error_code for each in answer.topics[0].partitions]

        assert commit("x" * 2001, "x") == [METADATA_TOO_LARGE, 0]
        assert commit("x" * 500, "x" * 500) == [COMMIT_TOO_LARGE] * 2
        assert fetch(client) == (0, -1)
        assert commit("x" * 800) == [0]
        assert fetch(client) == (0, 7)
