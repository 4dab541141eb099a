"""LeaveGroup."""

from __future__ import annotations

import pytest

from headrace.coordination.groups.classic_states import ClassicState
from headrace.coordination.groups.commands import LeaveGroup, LeavingMember
from headrace.model.errors import FencedInstance, UnknownMember
from headrace.testing.group_bench import GROUP, GroupBench, join_command


@pytest.fixture
def bench() -> GroupBench:
    return GroupBench()


def test_leaving_starts_a_rebalance_for_the_others(bench: GroupBench) -> None:
    leader, follower = bench.stable(2)
    assert bench.leave(follower) == [None]
    assert bench.group().state is ClassicState.PREPARING
    assert bench.reply(bench.join(leader)).generation == 2


def test_last_member_leaves_an_empty_group(bench: GroupBench) -> None:
    ids = bench.stable(2)
    assert bench.leave(*ids) == [None, None]
    assert bench.group().state is ClassicState.EMPTY
    assert bench.restarted().group().state is ClassicState.EMPTY


def test_batch_answers_for_each_member(bench: GroupBench) -> None:
    leader, _ = bench.stable(2)
    left, stranger = bench.leave(leader, "stranger")
    assert left is None
    assert isinstance(stranger, UnknownMember)


def test_batch_of_strangers_changes_nothing(bench: GroupBench) -> None:
    bench.stable(1)
    assert isinstance(bench.leave("stranger")[0], UnknownMember)
    assert bench.group().state is ClassicState.STABLE


def test_member_that_waits_to_join_is_answered_when_it_leaves(bench: GroupBench) -> None:
    member_id, token = bench.enter()
    assert bench.leave(member_id) == [None]
    assert isinstance(bench.reply(token), UnknownMember)
    bench.pass_ms(3_000)
    assert bench.group().state is ClassicState.EMPTY


def test_member_that_waits_to_sync_is_answered_when_it_leaves(bench: GroupBench) -> None:
    bench.enter()
    follower, _ = bench.enter()
    bench.pass_ms(6_000)
    waiting = bench.sync(follower, 1)
    bench.leave(follower)
    assert isinstance(bench.reply(waiting), UnknownMember)


def test_id_that_was_handed_out_can_be_given_back(bench: GroupBench) -> None:
    required = bench.ask(join_command())
    assert bench.leave(required.member_id) == [None]
    assert isinstance(bench.ask(join_command(required.member_id)), UnknownMember)


def test_administrator_removes_static_members_by_instance(bench: GroupBench) -> None:
    bench.join(instance_id="a")
    token = bench.join(instance_id="b")
    bench.pass_ms(6_000)
    b = bench.reply(token).member_id
    leaving = (
        LeavingMember("", "a"),
        LeavingMember("", "unheard"),
        LeavingMember("other", "b"),
        LeavingMember("", None),
    )
    gone, unheard, fenced, nobody = bench.ask(LeaveGroup(GROUP, leaving))
    assert gone is None
    assert isinstance(unheard, UnknownMember)
    assert isinstance(fenced, FencedInstance)
    assert isinstance(nobody, UnknownMember)
    assert list(bench.group().members) == [b]


def test_leaving_an_unknown_group_is_refused(bench: GroupBench) -> None:
    assert isinstance(bench.leave("m"), UnknownMember)
