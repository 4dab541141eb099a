"""AlterPartitionReassignments: the replicas of a partition are this node, and stay so."""

from __future__ import annotations

import pytest

from headrace.codecs.kafka.generated.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from headrace.frontends.kafka.handlers.api_45_alter_partition_reassignments import handle
from headrace.security.acl import CLUSTER_NAME, Operation, ResourceType
from headrace.testing.metadata_bench import MetadataBench

from .administrator import CLUSTER_AUTHORIZATION_FAILED, Administrator

NONE, UNKNOWN_TOPIC_OR_PARTITION, INVALID_REPLICA_ASSIGNMENT = 0, 3, 39
NO_REASSIGNMENT_IN_PROGRESS = 85


@pytest.fixture
def bench() -> MetadataBench:
    bench = MetadataBench({"node.id": "4"})
    bench.create("orders", 2)
    return bench


def reassign(
    admin: Administrator, name: str, index: int, replicas: list[int] | None
) -> tuple[int, int]:
    """(error of the whole, error of the partition)"""
    wanted = ReassignableTopic(name, [ReassignablePartition(index, replicas)])
    request = AlterPartitionReassignmentsRequest(1_000, False, [wanted])
    answer = admin.ask(handle, 1, request)
    assert answer.allow_replication_factor_change is False
    ((told,),) = [topic.partitions for topic in answer.responses]
    assert (told.error_message is None) == (told.error_code == NONE)
    return answer.error_code, told.error_code


def test_this_node_may_be_asked_for(bench: MetadataBench) -> None:
    before = bench.store.end_offset
    assert reassign(Administrator(bench), "orders", 1, [4]) == (NONE, NONE)
    assert bench.store.end_offset == before


@pytest.mark.parametrize("replicas", [[], [1], [4, 1], [4, 4], [-1]])
def test_other_replicas_are_refused(bench: MetadataBench, replicas: list[int]) -> None:
    told = reassign(Administrator(bench), "orders", 0, replicas)
    assert told == (NONE, INVALID_REPLICA_ASSIGNMENT)


def test_there_is_nothing_to_cancel(bench: MetadataBench) -> None:
    admin = Administrator(bench)
    assert reassign(admin, "orders", 0, None) == (NONE, NO_REASSIGNMENT_IN_PROGRESS)


@pytest.mark.parametrize("replicas", [[4], [9], None])
def test_unknown_partitions_are_refused(bench: MetadataBench, replicas: list[int] | None) -> None:
    admin = Administrator(bench)
    assert reassign(admin, "orders", 2, replicas) == (NONE, UNKNOWN_TOPIC_OR_PARTITION)
    assert reassign(admin, "unknown", 0, replicas) == (NONE, UNKNOWN_TOPIC_OR_PARTITION)


@pytest.mark.parametrize("name", ["orders", "unknown"])
def test_right_to_alter_the_cluster_is_needed(bench: MetadataBench, name: str) -> None:
    admin = Administrator(bench, is_allowed=False)
    assert reassign(admin, name, 0, [4]) == (
        CLUSTER_AUTHORIZATION_FAILED,
        CLUSTER_AUTHORIZATION_FAILED,
    )
    assert admin.asked == [(Operation.ALTER, ResourceType.CLUSTER, CLUSTER_NAME)]
