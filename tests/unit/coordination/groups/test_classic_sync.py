"""SyncGroup and Heartbeat."""

from __future__ import annotations

import pytest

from headrace.coordination.groups.classic_states import ClassicState
from headrace.coordination.groups.commands import SyncGroup
from headrace.coordination.groups.record_codecs import read_group
from headrace.model.errors import (
    CoordinatorNotAvailable,
    IllegalGeneration,
    InconsistentGroupProtocol,
    RebalanceInProgress,
    UnknownMember,
)
from headrace.testing.group_bench import GROUP, GroupBench


@pytest.fixture
def bench() -> GroupBench:
    return GroupBench()


@pytest.fixture
def pair(bench: GroupBench) -> tuple[str, str]:
    """Leader and follower of a generation that awaits its assignment."""
    ids = bench.enter()[0], bench.enter()[0]
    bench.pass_ms(6_000)
    return ids


def test_followers_wait_for_the_leaders_assignment(
    bench: GroupBench, pair: tuple[str, str]
) -> None:
    leader, follower = pair
    waiting = bench.sync(follower, 1)
    assert bench.is_waiting(waiting)
    own = bench.sync(leader, 1, {leader: b"one", follower: b"two"})
    assert bench.reply(own).assignment == b"one"
    assert bench.reply(waiting) == ("consumer", "range", b"two")
    assert bench.group().state is ClassicState.STABLE


def test_late_follower_is_told_at_once(bench: GroupBench, pair: tuple[str, str]) -> None:
    leader, follower = pair
    bench.sync(leader, 1, {follower: b"two"})
    assert bench.reply(bench.sync(follower, 1)).assignment == b"two"


def test_assignment_is_written(bench: GroupBench, pair: tuple[str, str]) -> None:
    leader, _ = pair
    bench.sync(leader, 1, {leader: b"one"})
    value = bench.port.log[-1].value
    assert value is not None
    stored = read_group(value)
    assert (stored.generation, stored.leader_id) == (1, leader)
    assert [m.assignment for m in stored.members] == [b"one", b""]


def test_assignment_that_cannot_be_written_can_be_tried_again(
    bench: GroupBench, pair: tuple[str, str]
) -> None:
    leader, follower = pair
    bench.port.is_broken = True
    waiting = bench.sync(follower, 1)
    failed = bench.sync(leader, 1, {follower: b"two"})
    assert isinstance(bench.reply(failed), CoordinatorNotAvailable)
    assert isinstance(bench.reply(waiting), CoordinatorNotAvailable)
    bench.port.is_broken = False
    bench.sync(leader, 1, {follower: b"two"})
    assert bench.reply(bench.sync(follower, 1)).assignment == b"two"


def test_second_sync_of_a_waiting_member_overtakes_the_first(
    bench: GroupBench, pair: tuple[str, str]
) -> None:
    leader, follower = pair
    first, second = bench.sync(follower, 1), bench.sync(follower, 1)
    assert isinstance(bench.reply(first), RebalanceInProgress)
    bench.sync(leader, 1, {follower: b"two"})
    assert bench.reply(second).assignment == b"two"


def test_sync_is_refused(bench: GroupBench, pair: tuple[str, str]) -> None:
    leader, _ = pair
    assert isinstance(bench.reply(bench.sync(leader, 2)), IllegalGeneration)
    assert isinstance(bench.reply(bench.sync("stranger", 1)), UnknownMember)
    for kind, name in (("connect", None), (None, "sticky")):
        reply = bench.ask(SyncGroup(GROUP, 1, leader, None, kind, name, {}))
        assert isinstance(reply, InconsistentGroupProtocol)
    bench.join(leader, protocols=bench.group().members[leader].protocols[:1] * 2)
    assert isinstance(bench.reply(bench.sync(leader, 1)), RebalanceInProgress)


def test_sync_with_an_unknown_group_is_refused(bench: GroupBench) -> None:
    assert isinstance(bench.reply(bench.sync("m", 1)), UnknownMember)


def test_heartbeat_is_judged_by_member_then_generation_then_state(
    bench: GroupBench, pair: tuple[str, str]
) -> None:
    leader, follower = pair
    assert bench.heartbeat(leader, 1) is None  # awaiting the assignment is no reason to refuse
    assert isinstance(bench.heartbeat("stranger", 1), UnknownMember)
    assert isinstance(bench.heartbeat(leader, 0), IllegalGeneration)
    bench.sync(leader, 1, {})
    bench.sync(follower, 1)
    assert bench.heartbeat(leader, 1) is None
    bench.join(leader)
    assert isinstance(bench.heartbeat(follower, 1), RebalanceInProgress)
    bench.leave(leader, follower)
    assert isinstance(bench.heartbeat(follower, 1), UnknownMember)


def test_heartbeat_to_an_unknown_group_is_refused(bench: GroupBench) -> None:
    assert isinstance(bench.heartbeat("m", 1), UnknownMember)
