"""Who may do what with transactions; whoever may not learns nothing of what there is."""

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
from headrace.codecs.kafka.generated.find_coordinator import FindCoordinatorRequest
from headrace.codecs.kafka.generated.init_producer_id import InitProducerIdRequest
from headrace.codecs.kafka.generated.list_transactions import ListTransactionsRequest
from headrace.codecs.kafka.generated.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from headrace.config.broker_access import STANDARD_AUTHORIZER
from headrace.frontends.kafka.handlers import (
    api_10_find_coordinator,
    api_22_init_producer_id,
    api_24_add_partitions_to_txn,
    api_25_add_offsets_to_txn,
    api_26_end_txn,
    api_27_write_txn_markers,
    api_65_describe_transactions,
    api_66_list_transactions,
)
from headrace.model.topic import TRANSACTION_STATE_TOPIC
from headrace.security.acl import (
    ANONYMOUS,
    CLUSTER_NAME,
    AclBinding,
    Operation,
    PatternType,
    Permission,
    ResourceType,
)
from headrace.testing.transaction_door import TransactionalProducer, TransactionDoor

TOPIC_REFUSED, GROUP_REFUSED, CLUSTER_REFUSED, ID_REFUSED, NOT_ATTEMPTED = 29, 30, 31, 53, 55


@pytest.fixture
def door() -> TransactionDoor:
    """Nobody may do anything."""
    door = TransactionDoor({"authorizer.class.name": STANDARD_AUTHORIZER})
    door.bench.create("orders")
    door.bench.create("secret")
    return door


def allow(
    door: TransactionDoor, operation: Operation, resource_type: ResourceType, name: str
) -> None:
    assert door.bench.access is not None
    rule = AclBinding(
        resource_type, name, PatternType.LITERAL, ANONYMOUS, "*", operation, Permission.ALLOW
    )
    assert door.bench.access.create([rule]) == [None]


def add_request(*topics: str) -> AddPartitionsToTxnRequest:
    wanted = [AddPartitionsToTxnTopic(name, [0]) for name in topics]
    return AddPartitionsToTxnRequest("t", 0, 0, wanted)


def add_codes(door: TransactionDoor, *topics: str) -> list[int]:
    response = door.call(api_24_add_partitions_to_txn, add_request(*topics), 3)
    return [
        topic.results_by_partition[0].partition_error_code
        for topic in response.results_by_topic_v3_and_below
    ]


def test_nothing_is_made_for_somebody_without_rights(door: TransactionDoor) -> None:
    def code(handler: Any, request: Any, version: int) -> int:
        answered: int = door.call(handler, request, version).error_code
        return answered

    assert code(api_22_init_producer_id, InitProducerIdRequest("t", 1000), 5) == ID_REFUSED
    assert code(api_22_init_producer_id, InitProducerIdRequest(None), 5) == CLUSTER_REFUSED
    assert code(api_25_add_offsets_to_txn, AddOffsetsToTxnRequest("t", 0, 0, "g"), 3) == ID_REFUSED
    assert code(api_26_end_txn, EndTxnRequest("t", 0, 0, True), 5) == ID_REFUSED
    request = FindCoordinatorRequest(key_type=1, coordinator_keys=["t"])
    assert door.call(api_10_find_coordinator, request, 6).coordinators[0].error_code == ID_REFUSED
    assert add_codes(door, "orders", "unheard") == [ID_REFUSED, ID_REFUSED]
    batched = AddPartitionsToTxnRequest(transactions=[AddPartitionsToTxnTransaction("t")])
    assert code(api_24_add_partitions_to_txn, batched, 5) == CLUSTER_REFUSED
    assert TRANSACTION_STATE_TOPIC not in door.bench.topics


def test_id_needs_write(door: TransactionDoor) -> None:
    allow(door, Operation.WRITE, ResourceType.TRANSACTIONAL_ID, "t")
    answer = door.call(api_22_init_producer_id, InitProducerIdRequest("t", 1000), 5)
    assert answer.error_code == 0
    request = FindCoordinatorRequest(key_type=1, coordinator_keys=["t", "u"])
    found, refused = door.call(api_10_find_coordinator, request, 6).coordinators
    assert (found.error_code, refused.error_code) == (0, ID_REFUSED)


def test_producer_without_an_id_may_begin_if_it_may_write_somewhere(door: TransactionDoor) -> None:
    allow(door, Operation.WRITE, ResourceType.TOPIC, "orders")
    answer = door.call(api_22_init_producer_id, InitProducerIdRequest(None), 5)
    assert answer.error_code == 0


def test_topic_and_group_need_rights_of_their_own(door: TransactionDoor) -> None:
    allow(door, Operation.WRITE, ResourceType.TRANSACTIONAL_ID, "t")
    allow(door, Operation.WRITE, ResourceType.TOPIC, "orders")
    TransactionalProducer(door).initialise()
    expected = [NOT_ATTEMPTED, TOPIC_REFUSED, TOPIC_REFUSED]
    assert add_codes(door, "orders", "secret", "unheard") == expected
    assert add_codes(door, "orders") == [0]
    request = AddOffsetsToTxnRequest("t", 0, 0, "g")
    assert door.call(api_25_add_offsets_to_txn, request, 3).error_code == GROUP_REFUSED
    allow(door, Operation.READ, ResourceType.GROUP, "g")
    assert door.call(api_25_add_offsets_to_txn, request, 3).error_code == 0


@pytest.mark.parametrize("right", [Operation.ALTER, Operation.CLUSTER_ACTION])
def test_markers_are_for_brokers_and_operators(door: TransactionDoor, right: Operation) -> None:
    topics = [WritableTxnMarkerTopic("orders", [0]), WritableTxnMarkerTopic("unheard", [0])]
    request = WriteTxnMarkersRequest([WritableTxnMarker(7, 0, False, topics)])

    def codes() -> list[int]:
        (marker,) = door.call(api_27_write_txn_markers, request, 1).markers
        return [topic.partitions[0].error_code for topic in marker.topics]

    assert codes() == [CLUSTER_REFUSED, CLUSTER_REFUSED]
    allow(door, right, ResourceType.CLUSTER, CLUSTER_NAME)
    assert codes() == [0, 3]


def test_description_leaves_out_what_may_not_be_seen(door: TransactionDoor) -> None:
    producer = TransactionalProducer(door).initialise()
    producer.send("orders")
    producer.send("secret")
    TransactionalProducer(door, "hidden").initialise()
    request = DescribeTransactionsRequest(["t", "hidden", "unheard"])
    refused = door.call(api_65_describe_transactions, request, 0).transaction_states
    assert [each.error_code for each in refused] == [ID_REFUSED] * 3
    listed = door.call(api_66_list_transactions, ListTransactionsRequest(), 2)
    assert (listed.error_code, list(listed.transaction_states)) == (0, [])
    allow(door, Operation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, "t")
    allow(door, Operation.DESCRIBE, ResourceType.TOPIC, "orders")
    described = door.call(api_65_describe_transactions, request, 0).transaction_states[0]
    assert [topic.topic for topic in described.topics] == ["orders"]
    listed = door.call(api_66_list_transactions, ListTransactionsRequest(), 2)
    assert [each.transactional_id for each in listed.transaction_states] == ["t"]
