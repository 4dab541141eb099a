"""FindCoordinator, DescribeGroups, ListGroups and DeleteGroups in all their versions."""

from __future__ import annotations

import pytest

from headrace.codecs.kafka.generated.delete_groups import DeleteGroupsRequest
from headrace.codecs.kafka.generated.describe_groups import DescribeGroupsRequest
from headrace.codecs.kafka.generated.find_coordinator import FindCoordinatorRequest
from headrace.codecs.kafka.generated.list_groups import ListGroupsRequest
from headrace.coordination.groups.commands import CommitOffsets, OffsetToCommit, SyncGroup
from headrace.frontends.kafka.handlers import (
    api_10_find_coordinator,
    api_15_describe_groups,
    api_16_list_groups,
    api_42_delete_groups,
)
from headrace.model.topic import CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC, TopicPartition
from headrace.testing.group_bench import join_command
from headrace.testing.group_door import GroupDoor
from headrace.testing.transaction_door import TransactionDoor

INVALID_GROUP_ID, INVALID_REQUEST, NOT_EMPTY, NOT_FOUND = 24, 42, 68, 69


@pytest.fixture
def door() -> GroupDoor:
    """A stable group ``orders`` and a simple one."""
    door = GroupDoor()
    joined: list = []
    door.groups.submit("orders", join_command(member_id_required=False), joined.append)
    door.pass_seconds(0.01)
    member_id = joined[0].member_id
    assignments = {member_id: b"mine"}
    door.ask("orders", SyncGroup("orders", 1, member_id, None, None, None, assignments))
    offsets = [OffsetToCommit(TopicPartition("t", 0), 1, -1, "")]
    door.ask("simple", CommitOffsets("simple", "", None, -1, offsets))
    return door


@pytest.mark.parametrize("version", range(4))
def test_one_coordinator_is_found(version: int) -> None:
    door = GroupDoor()
    response = door.call(api_10_find_coordinator, FindCoordinatorRequest(key="g"), version)
    assert (response.error_code, response.node_id) == (0, 1)
    assert (response.host, response.port) == ("broker.example", 9092)
    assert CONSUMER_OFFSETS_TOPIC in door.bench.topics
    refused = door.call(api_10_find_coordinator, FindCoordinatorRequest(key=""), version)
    assert (refused.error_code, refused.node_id) == (INVALID_GROUP_ID, -1)


@pytest.mark.parametrize("version", range(4, 7))
def test_several_coordinators_are_found(version: int) -> None:
    request = FindCoordinatorRequest(coordinator_keys=["g", ""])
    found, refused = GroupDoor().call(api_10_find_coordinator, request, version).coordinators
    assert (found.key, found.error_code, found.port) == ("g", 0, 9092)
    assert (refused.key, refused.error_code) == ("", INVALID_GROUP_ID)
    assert refused.error_message


def test_coordinator_of_a_transaction_is_this_broker_and_that_of_a_share_is_nobody() -> None:
    door = TransactionDoor()
    for key_type, code in ((1, 0), (2, INVALID_REQUEST)):
        request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=["x"])
        (found,) = door.call(api_10_find_coordinator, request, 6).coordinators
        assert found.error_code == code
    assert TRANSACTION_STATE_TOPIC in door.bench.topics
    assert CONSUMER_OFFSETS_TOPIC not in door.bench.topics
    request = FindCoordinatorRequest(key_type=1, coordinator_keys=[""])
    (refused,) = door.call(api_10_find_coordinator, request, 6).coordinators
    assert refused.error_code == INVALID_REQUEST


@pytest.mark.parametrize("version", range(7))
def test_groups_are_described(door: GroupDoor, version: int) -> None:
    request = DescribeGroupsRequest(["orders", "unheard"])
    orders, unheard = door.call(api_15_describe_groups, request, version).groups
    assert (orders.error_code, orders.group_state, orders.protocol_data) == (0, "Stable", "range")
    (member,) = orders.members
    assert (member.client_id, member.member_assignment) == ("client", b"mine")
    assert unheard.group_state == "Dead"
    assert unheard.error_code == (NOT_FOUND if version >= 6 else 0)


def test_operations_are_told_on_request(door: GroupDoor) -> None:
    request = DescribeGroupsRequest(["orders"], include_authorized_operations=True)
    (orders,) = door.call(api_15_describe_groups, request, 6).groups
    assert orders.authorized_operations > 0
    (orders,) = door.call(api_15_describe_groups, DescribeGroupsRequest(["orders"]), 6).groups
    assert orders.authorized_operations == -(2**31)


@pytest.mark.parametrize("version", range(6))
def test_groups_are_listed(door: GroupDoor, version: int) -> None:
    response = door.call(api_16_list_groups, ListGroupsRequest(), version)
    assert sorted(group.group_id for group in response.groups) == ["orders", "simple"]
    if version >= 4:
        stable = door.call(api_16_list_groups, ListGroupsRequest(["Stable"]), version)
        assert [(g.group_id, g.group_state) for g in stable.groups] == [("orders", "Stable")]
    if version >= 5:
        request = ListGroupsRequest(types_filter=["classic"])
        classic = door.call(api_16_list_groups, request, version)
        assert {group.group_type for group in classic.groups} == {"classic"}


@pytest.mark.parametrize("version", range(3))
def test_groups_are_deleted(door: GroupDoor, version: int) -> None:
    request = DeleteGroupsRequest(["orders", "simple", "unheard", "simple"])
    results = door.call(api_42_delete_groups, request, version).results
    told = [(result.group_id, result.error_code) for result in results]
    assert told == [("orders", NOT_EMPTY), ("simple", 0), ("unheard", NOT_FOUND)]
