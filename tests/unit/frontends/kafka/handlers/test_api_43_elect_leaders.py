"""ElectLeaders: every partition has the leader that it would get."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.codecs.kafka.generated.elect_leaders import ElectLeadersRequest, TopicPartitions
from headrace.frontends.kafka.handlers.api_43_elect_leaders import PREFERRED, UNCLEAN, handle
from headrace.security.acl import CLUSTER_NAME, Operation, ResourceType
from headrace.testing.metadata_bench import MetadataBench

from .administrator import CLUSTER_AUTHORIZATION_FAILED, Administrator

UNKNOWN_TOPIC_OR_PARTITION, INVALID_REQUEST, ELECTION_NOT_NEEDED = 3, 42, 84


@pytest.fixture
def bench() -> MetadataBench:
    bench = MetadataBench()
    bench.create("orders", 2)
    return bench


def elect(
    admin: Administrator, partitions: dict[str, list[int]] | None, election_type: int = PREFERRED
) -> tuple[int, dict[tuple[str, int], int]]:
    """(error of the whole, errors of the partitions)"""
    wanted: Any = None
    if partitions is not None:
        wanted = [TopicPartitions(name, indexes) for name, indexes in partitions.items()]
    answer = admin.ask(handle, 2, ElectLeadersRequest(election_type, wanted))
    return answer.error_code, {
        (topic.topic, each.partition_id): each.error_code
        for topic in answer.replica_election_results
        for each in topic.partition_result
    }


@pytest.mark.parametrize("election_type", [PREFERRED, UNCLEAN])
def test_no_election_is_needed(bench: MetadataBench, election_type: int) -> None:
    told = elect(Administrator(bench), {"orders": [0, 1]}, election_type)
    assert told == (0, dict.fromkeys([("orders", 0), ("orders", 1)], ELECTION_NOT_NEEDED))


def test_unknown_partitions_are_refused(bench: MetadataBench) -> None:
    code, told = elect(Administrator(bench), {"orders": [2], "unknown": [0]})
    assert code == 0
    assert told == dict.fromkeys([("orders", 2), ("unknown", 0)], UNKNOWN_TOPIC_OR_PARTITION)


def test_of_all_partitions_those_that_need_no_election_are_not_told(bench: MetadataBench) -> None:
    assert elect(Administrator(bench), None) == (0, {})


def test_unknown_kind_of_election_is_refused(bench: MetadataBench) -> None:
    told = elect(Administrator(bench), {"orders": [0]}, election_type=2)
    assert told == (INVALID_REQUEST, {("orders", 0): INVALID_REQUEST})


def test_right_to_alter_the_cluster_is_needed(bench: MetadataBench) -> None:
    admin = Administrator(bench, is_allowed=False)
    code, told = elect(admin, {"orders": [0], "unknown": [0]})
    assert {code, *told.values()} == {CLUSTER_AUTHORIZATION_FAILED}
    assert len(told) == 2
    assert admin.asked == [(Operation.ALTER, ResourceType.CLUSTER, CLUSTER_NAME)]
