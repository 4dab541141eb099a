"""The course of a rebalance: stragglers, sessions, time-outs."""

from __future__ import annotations

import pytest

from headrace.coordination.groups.classic_states import ClassicState
from headrace.coordination.groups.record_codecs import read_group
from headrace.model.errors import RebalanceInProgress, UnknownMember
from headrace.testing.group_bench import GroupBench, join_command


@pytest.fixture
def bench() -> GroupBench:
    return GroupBench()


def keep_alive(bench: GroupBench, member_id: str, duration_ms: int) -> None:
    for _ in range(duration_ms // 5_000):
        bench.heartbeat(member_id, bench.group().generation)
        bench.pass_ms(5_000)


def test_straggler_is_dropped_when_the_rebalance_times_out(bench: GroupBench) -> None:
    leader, straggler = bench.stable(2)
    token = bench.join(leader)
    keep_alive(bench, straggler, 30_000)
    assert bench.reply(token).generation == 2
    assert [m.member_id for m in bench.reply(token).members] == [leader]
    assert isinstance(bench.ask(join_command(straggler)), UnknownMember)


def test_leader_that_does_not_rejoin_is_succeeded(bench: GroupBench) -> None:
    leader, follower = bench.stable(2)
    bench.leave(leader)
    token = bench.join(follower)
    assert bench.reply(token).leader_id == follower


def test_static_straggler_stays_a_member_but_does_not_lead(bench: GroupBench) -> None:
    first, second = bench.join(instance_id="a"), bench.join(instance_id="b")
    bench.pass_ms(6_000)
    a, b = bench.reply(first).member_id, bench.reply(second).member_id
    bench.sync(b, 1)
    bench.sync(a, 1)
    token = bench.join(
        b, instance_id="b", protocols=(join_command().protocols[0]._replace(metadata=b"x"),)
    )
    keep_alive(bench, a, 30_000)
    assert bench.reply(token).leader_id == b
    assert [m.member_id for m in bench.reply(token).members] == [a, b]


def test_rebalance_that_nobody_joins_waits_for_the_sessions_to_end(bench: GroupBench) -> None:
    token = bench.join(instance_id="a", session_timeout_ms=60_000)
    other, _ = bench.enter()
    bench.pass_ms(6_000)
    a = bench.reply(token).member_id
    bench.leave(other)
    assert bench.group().state is ClassicState.PREPARING
    bench.pass_ms(31_000)
    assert list(bench.group().members) == [a]
    bench.pass_ms(60_000)
    assert bench.group().state is ClassicState.EMPTY


def test_member_that_falls_silent_is_expelled(bench: GroupBench) -> None:
    alive, silent = bench.stable(2)
    bench.pass_ms(5_000)
    assert bench.heartbeat(alive, 1) is None
    bench.pass_ms(5_000)
    assert isinstance(bench.heartbeat(alive, 1), RebalanceInProgress)
    assert bench.reply(bench.join(alive)).generation == 2
    assert isinstance(bench.heartbeat(silent, 2), UnknownMember)


def test_waiting_for_the_others_keeps_a_member_alive(bench: GroupBench) -> None:
    leader, other = bench.stable(2)
    token = bench.join(leader)
    keep_alive(bench, other, 25_000)
    assert bench.is_waiting(token)
    assert set(bench.group().members) == {leader, other}


def test_new_member_that_waits_too_long_is_sent_back(bench: GroupBench) -> None:
    leader, _ = bench.stable(2, rebalance_timeout_ms=600_000)
    _, token = bench.enter(rebalance_timeout_ms=600_000)
    keep_alive(bench, leader, 300_000)
    assert isinstance(bench.reply(token), UnknownMember)


def test_pending_id_holds_the_rebalance_until_it_expires(bench: GroupBench) -> None:
    leader, follower = bench.stable(2)
    bench.ask(join_command(session_timeout_ms=6_000))
    first, second = bench.join(leader), bench.join(follower)
    assert bench.is_waiting(first)
    bench.pass_ms(6_000)
    assert bench.reply(first).generation == bench.reply(second).generation == 2


def test_members_that_do_not_sync_are_dropped(bench: GroupBench) -> None:
    leader, _ = bench.enter()
    lazy, _ = bench.enter()
    bench.pass_ms(6_000)
    waiting = bench.sync(leader, 1, {})
    assert bench.reply(waiting).assignment == b""
    for _ in range(6):
        bench.heartbeat(leader, 1)
        bench.heartbeat(lazy, 1)
        bench.pass_ms(5_000)
    assert list(bench.group().members) == [leader]
    assert bench.reply(bench.join(leader)).generation == 2


def test_follower_waiting_for_a_dead_leader_is_sent_back(bench: GroupBench) -> None:
    bench.enter()
    follower, _ = bench.enter()
    bench.pass_ms(6_000)
    waiting = bench.sync(follower, 1)
    bench.pass_ms(10_000)
    assert isinstance(bench.reply(waiting), RebalanceInProgress)
    assert bench.reply(bench.join(follower)).leader_id == follower


def test_empty_group_is_written_with_the_time_it_became_so(bench: GroupBench) -> None:
    member = bench.stable(1)[0]
    bench.leave(member)
    value = bench.port.log[-1].value
    assert value is not None
    stored = read_group(value)
    assert (stored.generation, stored.members) == (2, ())
    assert stored.state_timestamp_ms == bench.now_ms
    assert bench.group().state is ClassicState.EMPTY


def test_members_found_in_the_log_have_a_whole_session_to_show_up(bench: GroupBench) -> None:
    ids = bench.stable(2)
    again = bench.restarted()
    assert again.group().state is ClassicState.STABLE
    again.pass_ms(9_999)
    assert [again.heartbeat(each, 1) for each in ids] == [None, None]
    again.pass_ms(10_000)
    assert again.group().state is ClassicState.EMPTY
