"""Placement: on one node everything is where it can be, and says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.broker.placement import (
    cancellation_refusal,
    election_refusal,
    raise_if_not_movable_to,
    raise_if_not_reassignable,
    unregistration_refusal,
)
from headrace.model.errors import (
    BrokerNotRegistered,
    ElectionNotNeeded,
    InvalidReplicaAssignment,
    LogDirectoryNotFound,
    NoReassignmentInProgress,
    PolicyViolation,
    UnknownTopicOrPartition,
)
from headrace.testing.metadata_bench import MetadataBench

if TYPE_CHECKING:
    from headrace.broker.topics import Topics

NODE = 1


@pytest.fixture
def topics() -> Topics:
    bench = MetadataBench()
    bench.create("orders", 2)
    return bench.topics


def test_partition_moves_to_where_it_is(topics: Topics) -> None:
    raise_if_not_movable_to(topics, "orders", 1, "/data", "/data")
    with pytest.raises(LogDirectoryNotFound, match="/data"):
        raise_if_not_movable_to(topics, "orders", 1, "/other", "/data")
    with pytest.raises(UnknownTopicOrPartition):
        raise_if_not_movable_to(topics, "orders", 2, "/data", "/data")


def test_partition_is_reassigned_to_this_node_alone(topics: Topics) -> None:
    raise_if_not_reassignable(topics, "orders", 0, (NODE,), NODE)
    with pytest.raises(InvalidReplicaAssignment, match="the only broker is 1"):
        raise_if_not_reassignable(topics, "orders", 0, (NODE, 2), NODE)
    with pytest.raises(UnknownTopicOrPartition):
        raise_if_not_reassignable(topics, "unknown", 0, (NODE,), NODE)


def test_refusals_tell_unknown_partitions_from_known_ones(topics: Topics) -> None:
    assert isinstance(cancellation_refusal(topics, "orders", 0), NoReassignmentInProgress)
    assert isinstance(election_refusal(topics, "orders", 0), ElectionNotNeeded)
    for refusal in (cancellation_refusal, election_refusal):
        assert isinstance(refusal(topics, "orders", 2), UnknownTopicOrPartition)


def test_broker_is_not_unregistered() -> None:
    assert isinstance(unregistration_refusal(2, NODE), BrokerNotRegistered)
    assert isinstance(unregistration_refusal(NODE, NODE), PolicyViolation)
