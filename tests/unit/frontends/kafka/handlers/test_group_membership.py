"""JoinGroup, SyncGroup, Heartbeat and LeaveGroup as clients of all versions see them."""

from __future__ import annotations

import pytest

from headrace.codecs.kafka.generated.heartbeat import HeartbeatRequest
from headrace.codecs.kafka.generated.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from headrace.codecs.kafka.generated.leave_group import LeaveGroupRequest, MemberIdentity
from headrace.codecs.kafka.generated.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)
from headrace.frontends.kafka.handlers import (
    api_11_join_group,
    api_12_heartbeat,
    api_13_leave_group,
    api_14_sync_group,
)
from headrace.testing.group_door import Call, GroupDoor

MEMBER_ID_REQUIRED, UNKNOWN_MEMBER, INVALID_GROUP_ID, REBALANCING = 79, 25, 24, 27


@pytest.fixture
def door() -> GroupDoor:
    return GroupDoor()


def join_request(member_id: str = "", instance_id: str | None = None) -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id="g",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=20_000,
        member_id=member_id,
        group_instance_id=instance_id,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol("range", b"subscription")],
    )


def join(door: GroupDoor, version: int) -> Call:
    """A new member, in one step or in two."""
    call = door.send(api_11_join_group, join_request(), version)
    if call.response is not None and call.response.error_code == MEMBER_ID_REQUIRED:
        assert version >= 4
        call = door.send(api_11_join_group, join_request(call.response.member_id), version)
    return call


@pytest.mark.parametrize("version", range(10))
def test_member_joins_with_any_version(door: GroupDoor, version: int) -> None:
    call = join(door, version)
    assert call.response is None
    door.pass_seconds(0.01)
    response = call.response
    assert (response.error_code, response.generation_id) == (0, 1)
    assert response.protocol_name == "range"
    assert response.leader == response.member_id != ""
    assert response.members[0].metadata == b"subscription"
    if version >= 7:
        assert response.protocol_type == "consumer"


@pytest.mark.parametrize("version", range(10))
def test_refused_join_is_encodable_in_any_version(door: GroupDoor, version: int) -> None:
    response = door.call(api_11_join_group, join_request("stranger"), version)
    assert (response.error_code, response.generation_id) == (UNKNOWN_MEMBER, -1)
    assert response.member_id == "stranger"


def test_first_version_rebalances_as_fast_as_its_session_ends(door: GroupDoor) -> None:
    call = join(door, 0)
    door.pass_seconds(0.01)
    member_id = call.response.member_id
    (shard,) = [s for s in door.groups._shards if s.registry.groups]
    member = shard.registry.groups["g"].members[member_id]
    assert member.rebalance_timeout_ms == 10_000


def test_client_and_host_are_kept_as_kafka_shows_them(door: GroupDoor) -> None:
    join(door, 9)
    (shard,) = [s for s in door.groups._shards if s.registry.groups]
    (member,) = shard.registry.groups["g"].members.values()
    assert (member.client_id, member.client_host) == ("client", "/127.0.0.1")
    assert member.member_id.startswith("client-")


def sync_request(member_id: str, assignments: dict[str, bytes]) -> SyncGroupRequest:
    return SyncGroupRequest(
        group_id="g",
        generation_id=1,
        member_id=member_id,
        protocol_type="consumer",
        protocol_name="range",
        assignments=[SyncGroupRequestAssignment(*pair) for pair in assignments.items()],
    )


@pytest.mark.parametrize("version", range(6))
def test_assignment_reaches_all_members(door: GroupDoor, version: int) -> None:
    first, second = join(door, 9), join(door, 9)
    door.pass_seconds(0.01)
    leader, follower = first.response.member_id, second.response.member_id
    waiting = door.send(api_14_sync_group, sync_request(follower, {}), version)
    assert waiting.response is None
    assignments = {leader: b"one", follower: b"two"}
    own = door.call(api_14_sync_group, sync_request(leader, assignments), version)
    assert (own.error_code, own.assignment) == (0, b"one")
    assert (waiting.response.error_code, waiting.response.assignment) == (0, b"two")
    refused = door.call(api_14_sync_group, sync_request("stranger", {}), version)
    assert refused.error_code == UNKNOWN_MEMBER


@pytest.mark.parametrize("version", range(5))
def test_heartbeat_tells_of_a_rebalance(door: GroupDoor, version: int) -> None:
    call = join(door, 9)
    door.pass_seconds(0.01)
    beat = HeartbeatRequest(group_id="g", generation_id=1, member_id=call.response.member_id)
    assert door.call(api_12_heartbeat, beat, version).error_code == 0
    join(door, 9)
    assert door.call(api_12_heartbeat, beat, version).error_code == REBALANCING
    nameless = HeartbeatRequest(group_id="", generation_id=1, member_id="m")
    assert door.call(api_12_heartbeat, nameless, version).error_code == INVALID_GROUP_ID


@pytest.mark.parametrize("version", range(3))
def test_one_member_leaves(door: GroupDoor, version: int) -> None:
    call = join(door, 9)
    door.pass_seconds(0.01)
    request = LeaveGroupRequest(group_id="g", member_id=call.response.member_id)
    assert door.call(api_13_leave_group, request, version).error_code == 0
    assert door.call(api_13_leave_group, request, version).error_code == UNKNOWN_MEMBER


@pytest.mark.parametrize("version", range(3, 6))
def test_several_members_leave(door: GroupDoor, version: int) -> None:
    door.send(api_11_join_group, join_request(instance_id="shelf"), 9)
    door.pass_seconds(0.01)
    members = [MemberIdentity("", "shelf"), MemberIdentity("stranger", None)]
    response = door.call(api_13_leave_group, LeaveGroupRequest("g", members=members), version)
    assert response.error_code == 0
    told = [(m.member_id, m.group_instance_id, m.error_code) for m in response.members]
    assert told == [("", "shelf", 0), ("stranger", None, UNKNOWN_MEMBER)]


@pytest.mark.parametrize("version", range(3, 6))
def test_members_of_no_group_are_unknown_one_by_one(door: GroupDoor, version: int) -> None:
    request = LeaveGroupRequest("unheard", members=[MemberIdentity("m", None)])
    response = door.call(api_13_leave_group, request, version)
    assert response.error_code == 0
    assert [m.error_code for m in response.members] == [UNKNOWN_MEMBER]
