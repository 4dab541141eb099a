"""The handlers of transactions, over their codecs in every version."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.codecs.kafka.generated.add_offsets_to_txn import AddOffsetsToTxnRequest
from headrace.codecs.kafka.generated.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from headrace.codecs.kafka.generated.describe_transactions import DescribeTransactionsRequest
from headrace.codecs.kafka.generated.end_txn import EndTxnRequest
from headrace.codecs.kafka.generated.list_transactions import ListTransactionsRequest
from headrace.codecs.kafka.generated.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from headrace.frontends.kafka.handlers import (
    api_24_add_partitions_to_txn,
    api_25_add_offsets_to_txn,
    api_26_end_txn,
    api_27_write_txn_markers,
    api_65_describe_transactions,
    api_66_list_transactions,
)
from headrace.records.build import build_batch
from headrace.testing.transaction_door import (
    TransactionalProducer,
    TransactionDoor,
    committed_values,
)

UNKNOWN_PARTITION, INVALID_GROUP_ID, TOPIC_REFUSED = 3, 24, 29
INVALID_EPOCH, INVALID_STATE, INVALID_MAPPING, OTHER_COORDINATOR = 47, 48, 49, 52
NOT_ATTEMPTED, FENCED, NOT_FOUND, ABORTABLE, BAD_PATTERN = 55, 90, 105, 120, 128


@pytest.fixture
def door() -> TransactionDoor:
    door = TransactionDoor()
    door.bench.create("orders", 3)
    return door


@pytest.fixture
def producer(door: TransactionDoor) -> TransactionalProducer:
    return TransactionalProducer(door, client_version=0).initialise()


def add_request(
    version: int, producer: TransactionalProducer, topics: dict[str, list[int]], **options: Any
) -> AddPartitionsToTxnRequest:
    wanted = [AddPartitionsToTxnTopic(name, indexes) for name, indexes in topics.items()]
    if version < 4:
        return AddPartitionsToTxnRequest(
            producer.transactional_id, *producer.identity, v3_and_below_topics=wanted
        )
    one = AddPartitionsToTxnTransaction(
        producer.transactional_id, *producer.identity, topics=wanted, **options
    )
    return AddPartitionsToTxnRequest(transactions=[one])


def add(
    version: int, producer: TransactionalProducer, topics: dict[str, list[int]], **options: Any
) -> dict[tuple[str, int], int]:
    """Error codes by partition."""
    request = add_request(version, producer, topics, **options)
    response = producer.door.call(api_24_add_partitions_to_txn, request, version)
    results = response.results_by_topic_v3_and_below
    if version >= 4:
        assert response.error_code == 0
        (result,) = response.results_by_transaction
        results = result.topic_results
    return {
        (topic.name, partition.partition_index): partition.partition_error_code
        for topic in results
        for partition in topic.results_by_partition
    }


# --- AddPartitionsToTxn ---------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(6))
def test_partitions_are_added(producer: TransactionalProducer, version: int) -> None:
    assert add(version, producer, {"orders": [0, 2]}) == {("orders", 0): 0, ("orders", 2): 0}
    producer.send("orders", 2)


@pytest.mark.parametrize("version", range(6))
def test_one_bad_partition_keeps_the_others_out(
    producer: TransactionalProducer, version: int
) -> None:
    codes = add(version, producer, {"orders": [0, 7], "unheard": [0]})
    assert codes == {
        ("orders", 0): NOT_ATTEMPTED,
        ("orders", 7): UNKNOWN_PARTITION,
        ("unheard", 0): UNKNOWN_PARTITION,
    }


def test_internal_topics_are_not_for_clients(producer: TransactionalProducer) -> None:
    codes = add(3, producer, {"__transaction_state": [0], "orders": [0]})
    assert codes == {("__transaction_state", 0): TOPIC_REFUSED, ("orders", 0): NOT_ATTEMPTED}


@pytest.mark.parametrize("version", range(6))
def test_fenced_producer_is_told_what_its_version_knows(
    door: TransactionDoor, producer: TransactionalProducer, version: int
) -> None:
    TransactionalProducer(door).initialise()
    code = FENCED if version >= 2 else INVALID_EPOCH
    assert add(version, producer, {"orders": [0]}) == {("orders", 0): code}


@pytest.mark.parametrize(("version", "code"), [(4, INVALID_STATE), (5, ABORTABLE)])
def test_partitions_are_verified(producer: TransactionalProducer, version: int, code: int) -> None:
    producer.add(("orders", 0))
    codes = add(version, producer, {"orders": [0, 1]}, verify_only=True)
    assert codes == {("orders", 0): 0, ("orders", 1): code}


def test_several_transactions_are_answered_each(door: TransactionDoor) -> None:
    first, second = (TransactionalProducer(door, name).initialise() for name in ("a", "b"))
    request = add_request(5, first, {"orders": [0]})
    request.transactions.append(add_request(5, second, {"orders": [9]}).transactions[0])
    response = door.call(api_24_add_partitions_to_txn, request, 5)
    codes = {
        result.transactional_id: result.topic_results[0].results_by_partition[0]
        for result in response.results_by_transaction
    }
    assert codes["a"].partition_error_code == 0
    assert codes["b"].partition_error_code == UNKNOWN_PARTITION
    empty = door.call(api_24_add_partitions_to_txn, AddPartitionsToTxnRequest(), 5)
    assert (empty.error_code, list(empty.results_by_transaction)) == (0, [])


# --- AddOffsetsToTxn, EndTxn ----------------------------------------------------------------------


@pytest.mark.parametrize("version", range(5))
def test_offsets_of_a_group_are_added(producer: TransactionalProducer, version: int) -> None:
    door = producer.door
    request = AddOffsetsToTxnRequest("t", *producer.identity, "group")
    assert door.call(api_25_add_offsets_to_txn, request, version).error_code == 0
    log = door.log(*door.groups.partition_of_group("group"))
    producer.commit()
    assert log.log_end_offset == 1, "the marker"


@pytest.mark.parametrize("version", range(5))
def test_offsets_are_refused(producer: TransactionalProducer, version: int) -> None:
    def code(epoch: int, group_id: str) -> int:
        request = AddOffsetsToTxnRequest("t", producer.identity.producer_id, epoch, group_id)
        response = producer.door.call(api_25_add_offsets_to_txn, request, version)
        assert isinstance(response.error_code, int)
        return response.error_code

    assert code(9, "group") == (FENCED if version >= 2 else INVALID_EPOCH)
    assert code(0, "") == INVALID_GROUP_ID


@pytest.mark.parametrize("version", range(6))
@pytest.mark.parametrize("is_commit", [True, False])
def test_transaction_ends(producer: TransactionalProducer, version: int, is_commit: bool) -> None:
    producer.add(("orders", 0))
    producer.send("orders", 0, b"x")
    identity = producer.identity
    request = EndTxnRequest("t", *identity, is_commit)
    for _ in range(2):
        response = producer.door.call(api_26_end_txn, request, version)
        assert response.error_code == 0, "the second time it is repeated"
        if version >= 5:
            assert response.producer_id == identity.producer_id
            assert response.producer_epoch == identity.epoch + 1
    assert committed_values(producer.door.log("orders")) == [b"x"] * is_commit
    opposite = EndTxnRequest("t", *identity, not is_commit)
    assert producer.door.call(api_26_end_txn, opposite, version).error_code == INVALID_STATE


@pytest.mark.parametrize("version", range(6))
def test_end_is_refused(producer: TransactionalProducer, version: int) -> None:
    def code(transactional_id: str, producer_id: int, epoch: int) -> int:
        request = EndTxnRequest(transactional_id, producer_id, epoch, True)
        response = producer.door.call(api_26_end_txn, request, version)
        assert isinstance(response.error_code, int)
        return response.error_code

    producer_id = producer.identity.producer_id
    assert code("unheard", producer_id, 0) == INVALID_MAPPING
    assert code("t", 4711, 0) == INVALID_MAPPING
    assert code("t", producer_id, 7) == (FENCED if version >= 2 else INVALID_EPOCH)
    assert code("t", producer_id, 0) == INVALID_STATE, "nothing has begun"


# --- WriteTxnMarkers ------------------------------------------------------------------------------


def write_markers(
    door: TransactionDoor, version: int, producer_id: int, *partitions: int
) -> list[int]:
    marker = WritableTxnMarker(
        producer_id, 0, False, [WritableTxnMarkerTopic("orders", partitions)]
    )
    request = WriteTxnMarkersRequest([marker])
    response = door.call(api_27_write_txn_markers, request, version)
    (result,) = response.markers
    assert result.producer_id == producer_id
    return [each.error_code for each in result.topics[0].partitions]


@pytest.mark.parametrize("version", [1, 2])
def test_marker_ends_only_what_nobody_coordinates(
    producer: TransactionalProducer, version: int
) -> None:
    door = producer.door
    producer.add(("orders", 0))
    producer.send("orders", 0, b"mine")
    hanging = build_batch(
        [(b"k", b"v")], producer_id=99, producer_epoch=0, base_sequence=0, transactional=True
    )
    door.bench.logs.append([(door.log("orders", 1), hanging)])
    own_id = producer.identity.producer_id
    assert write_markers(door, version, own_id, 0) == [OTHER_COORDINATOR]
    assert write_markers(door, version, 99, 1, 7) == [0, UNKNOWN_PARTITION]
    assert door.log("orders", 1).last_stable_offset == 2
    producer.commit()
    assert committed_values(door.log("orders", 0)) == [b"mine"]


def test_marker_is_answered_when_it_is_durable() -> None:
    door = TransactionDoor({"durability": "fsync"})
    door.bench.create("orders", 1)
    hanging = build_batch(
        [(b"k", b"v")], producer_id=99, producer_epoch=0, base_sequence=0, transactional=True
    )
    door.bench.logs.append([(door.log("orders"), hanging)])
    door.bench.settle()
    topics = [WritableTxnMarkerTopic("orders", [0])]
    request = WriteTxnMarkersRequest([WritableTxnMarker(99, 0, False, topics)])
    call = door.send(api_27_write_txn_markers, request, 1)
    assert call.response is None
    door.bench.settle()
    assert call.response.markers[0].topics[0].partitions[0].error_code == 0


# --- administration -------------------------------------------------------------------------------


def test_transactions_are_described(producer: TransactionalProducer) -> None:
    producer.add(("orders", 0), ("orders", 2))
    request = DescribeTransactionsRequest(["unheard", "t", "t"])
    response = producer.door.call(api_65_describe_transactions, request, 0)
    unheard, described = response.transaction_states
    assert (unheard.transactional_id, unheard.error_code) == ("unheard", NOT_FOUND)
    assert described.transaction_state == "Ongoing"
    assert (described.producer_id, described.producer_epoch) == producer.identity
    assert described.transaction_timeout_ms == producer.timeout_ms
    assert described.transaction_start_time_ms == producer.door.bench.clock.now_ms()
    assert [(each.topic, list(each.partitions)) for each in described.topics] == [
        ("orders", [0, 2])
    ]
    empty = producer.door.call(api_65_describe_transactions, DescribeTransactionsRequest(), 0)
    assert list(empty.transaction_states) == []


@pytest.mark.parametrize("version", range(3))
def test_transactions_are_listed(producer: TransactionalProducer, version: int) -> None:
    producer.add(("orders", 0))
    TransactionalProducer(producer.door, "idle").initialise()

    def ids(**filters: Any) -> set[str]:
        request = ListTransactionsRequest(**filters)
        response = producer.door.call(api_66_list_transactions, request, version)
        assert response.error_code == 0
        return {each.transactional_id for each in response.transaction_states}

    assert ids() == {"t", "idle"}
    assert ids(state_filters=["Ongoing"]) == {"t"}
    assert ids(producer_id_filters=[producer.identity.producer_id]) == {"t"}
    if version >= 1:
        producer.door.pass_seconds(5)
        assert ids(duration_filter=3_000) == {"t"}
        assert ids(duration_filter=30_000) == set()
    if version >= 2:
        assert ids(transactional_id_pattern="id.*") == {"idle"}


def test_unknown_states_and_patterns_are_told(door: TransactionDoor) -> None:
    request = ListTransactionsRequest(state_filters=["Nonsense", "Empty"])
    response = door.call(api_66_list_transactions, request, 2)
    assert list(response.unknown_state_filters) == ["Nonsense"]
    request = ListTransactionsRequest(transactional_id_pattern="(")
    assert door.call(api_66_list_transactions, request, 2).error_code == BAD_PATTERN
