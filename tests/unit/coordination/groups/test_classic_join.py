"""JoinGroup: ids, votes, the first rebalance, limits, and members that come back."""

from __future__ import annotations

import pytest

from headrace.coordination.groups import classic_join
from headrace.coordination.groups.classic_states import ClassicState
from headrace.coordination.groups.commands import Protocol
from headrace.coordination.groups.registry import GroupSettings
from headrace.model.errors import (
    FencedInstance,
    GroupFull,
    InconsistentGroupProtocol,
    InvalidSessionTimeout,
    MemberIdRequired,
    RebalanceInProgress,
    UnknownMember,
)
from headrace.testing.group_bench import RANGE, GroupBench, join_command

OTHER = (Protocol("range", b"changed"),)


@pytest.fixture
def bench() -> GroupBench:
    return GroupBench()


def test_new_member_is_given_an_id_to_join_with(bench: GroupBench) -> None:
    required = bench.ask(join_command())
    assert isinstance(required, MemberIdRequired)
    assert required.member_id == "client-id1"
    token = bench.join(required.member_id)
    assert bench.is_waiting(token)


def test_old_client_joins_at_once_without_an_id(bench: GroupBench) -> None:
    token = bench.join(member_id_required=False)
    bench.pass_ms(3_000)
    assert bench.reply(token).member_id == "client-id1"


def test_static_member_needs_no_second_step(bench: GroupBench) -> None:
    token = bench.join(instance_id="shelf")
    bench.pass_ms(3_000)
    assert bench.reply(token).member_id == "shelf-id1"


def test_id_that_was_handed_out_is_forgotten_with_the_session(bench: GroupBench) -> None:
    required = bench.ask(join_command())
    bench.pass_ms(10_000)
    assert isinstance(bench.ask(join_command(required.member_id)), UnknownMember)


def test_first_rebalance_waits_longer_while_members_come(bench: GroupBench) -> None:
    _, first = bench.enter()
    bench.pass_ms(2_000)
    _, second = bench.enter()
    bench.pass_ms(1_000)
    assert bench.is_waiting(first)
    bench.pass_ms(3_000)
    assert bench.reply(first).generation == bench.reply(second).generation == 1


def test_first_rebalance_never_outlasts_the_rebalance_timeout(bench: GroupBench) -> None:
    _, first = bench.enter(rebalance_timeout_ms=7_000)
    for _ in range(7):
        bench.pass_ms(1_000)
        bench.enter(rebalance_timeout_ms=7_000)
    assert bench.reply(first).generation == 1


def test_only_the_leader_is_told_the_members(bench: GroupBench) -> None:
    leader_id, first = bench.enter()
    follower_id, second = bench.enter()
    bench.pass_ms(6_000)
    assert bench.reply(first).leader_id == bench.reply(second).leader_id == leader_id
    told = [(m.member_id, m.metadata) for m in bench.reply(first).members]
    assert told == [(leader_id, RANGE[0].metadata), (follower_id, RANGE[0].metadata)]
    assert bench.reply(second).members == ()


def test_protocol_is_elected_among_those_that_all_support(bench: GroupBench) -> None:
    sticky, plain, third = (Protocol(name, b"") for name in ("sticky", "range", "third"))
    _, token = bench.enter(protocols=(third, sticky, plain))
    bench.enter(protocols=(plain, sticky))
    bench.enter(protocols=(sticky, plain))
    bench.pass_ms(9_000)
    assert bench.reply(token).protocol_name == "sticky"


@pytest.mark.parametrize(
    "changes",
    [
        {"protocol_type": "connect"},
        {"protocols": (Protocol("unheard", b""),)},
        {"protocol_type": ""},
        {"protocols": ()},
    ],
)
def test_member_with_nothing_in_common_is_refused(bench: GroupBench, changes: dict) -> None:
    bench.enter()
    assert isinstance(bench.ask(join_command(**changes)), InconsistentGroupProtocol)


def test_protocol_named_twice_counts_once(bench: GroupBench) -> None:
    _, token = bench.enter(protocols=RANGE + RANGE)
    bench.enter()
    bench.pass_ms(6_000)
    assert bench.reply(token).protocol_name == "range"


@pytest.mark.parametrize("timeout_ms", [5_999, 1_800_001, -1])
def test_session_timeout_out_of_limits_is_refused(bench: GroupBench, timeout_ms: int) -> None:
    reply = bench.ask(join_command(session_timeout_ms=timeout_ms))
    assert isinstance(reply, InvalidSessionTimeout)


def test_unknown_member_is_refused(bench: GroupBench) -> None:
    assert isinstance(bench.ask(join_command("stranger")), UnknownMember)
    bench.stable(1)
    assert isinstance(bench.ask(join_command("stranger")), UnknownMember)


def test_full_group_takes_nobody(bench: GroupBench) -> None:
    bench = GroupBench(GroupSettings(classic_size_max=2))
    bench.stable(2)
    assert isinstance(bench.ask(join_command()), GroupFull)


def test_group_that_is_too_large_turns_away_the_last_to_rejoin() -> None:
    ids = (old := GroupBench()).stable(3)
    bench = GroupBench(GroupSettings(classic_size_max=2), old.port.log)
    assert bench.group().state is ClassicState.PREPARING
    first, second = bench.join(ids[0]), bench.join(ids[1])
    assert isinstance(bench.ask(join_command(ids[2])), GroupFull)
    bench.pass_ms(30_000)
    assert len(bench.reply(first).members) == 2
    assert bench.reply(second).generation == 2


def test_number_of_ids_handed_out_is_limited(
    bench: GroupBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(classic_join, "PENDING_IDS_MAX", 2)
    bench.ask(join_command())
    bench.ask(join_command())
    assert isinstance(bench.ask(join_command()), GroupFull)


def test_follower_that_rejoins_unchanged_gets_the_present_generation(bench: GroupBench) -> None:
    _, follower = bench.stable(2)
    assert bench.ask(join_command(follower)).generation == 1
    assert bench.group().state is ClassicState.STABLE


def test_follower_that_rejoins_changed_causes_a_rebalance(bench: GroupBench) -> None:
    leader, follower = bench.stable(2)
    token = bench.join(follower, protocols=OTHER)
    assert isinstance(bench.heartbeat(leader, 1), RebalanceInProgress)
    again = bench.join(leader)
    assert bench.reply(token).generation == 2
    assert [m.metadata for m in bench.reply(again).members] == [RANGE[0].metadata, b"changed"]


def test_leader_that_rejoins_causes_a_rebalance_though_unchanged(bench: GroupBench) -> None:
    leader, _ = bench.stable(2)
    assert bench.is_waiting(bench.join(leader))
    assert bench.group().state is ClassicState.PREPARING


def test_member_that_lost_its_answer_gets_it_again(bench: GroupBench) -> None:
    leader, _ = bench.enter()
    bench.pass_ms(3_000)
    again = bench.ask(join_command(leader))
    assert again.generation == 1
    assert len(again.members) == 1


def test_second_join_of_a_waiting_member_overtakes_the_first(bench: GroupBench) -> None:
    member_id, first = bench.enter()
    second = bench.join(member_id)
    assert isinstance(bench.reply(first), RebalanceInProgress)
    bench.pass_ms(3_000)
    assert bench.reply(second).generation == 1


# --- static members -----------------------------------------------------------------------------


def stable_static(bench: GroupBench) -> tuple[str, str]:
    """Two static members; the leader is the instance ``a``."""
    first, second = bench.join(instance_id="a"), bench.join(instance_id="b")
    bench.pass_ms(6_000)
    a, b = bench.reply(first).member_id, bench.reply(second).member_id
    bench.sync(b, 1)
    bench.sync(a, 1, {a: b"for a", b: b"for b"})
    return a, b


def test_static_member_takes_its_place_again_without_a_rebalance(bench: GroupBench) -> None:
    a, b = stable_static(bench)
    back = bench.ask(join_command(instance_id="b"))
    assert back.generation == 1
    assert back.member_id not in (a, b)
    assert bench.group().state is ClassicState.STABLE
    assert bench.reply(bench.sync(back.member_id, 1)).assignment == b"for b"
    assert bench.heartbeat(back.member_id, 1, "b") is None


def test_member_whose_place_was_taken_is_fenced(bench: GroupBench) -> None:
    _, b = stable_static(bench)
    bench.ask(join_command(instance_id="b"))
    assert isinstance(bench.heartbeat(b, 1, "b"), FencedInstance)
    assert isinstance(bench.ask(join_command(b, instance_id="b")), FencedInstance)


def test_replacement_survives_a_restart(bench: GroupBench) -> None:
    stable_static(bench)
    back = bench.ask(join_command(instance_id="b"))
    assert bench.restarted().heartbeat(back.member_id, 1, "b") is None


def test_replacement_that_cannot_be_written_leaves_the_old_member(bench: GroupBench) -> None:
    _, b = stable_static(bench)
    bench.port.is_broken = True
    bench.ask(join_command(instance_id="b"))
    assert bench.heartbeat(b, 1, "b") is None


def test_member_of_whom_only_the_log_knows_fences_nobody(bench: GroupBench) -> None:
    token = bench.join(instance_id="shelf")
    bench.pass_ms(3_000)
    member_id, generation = bench.reply(token).member_id, bench.reply(token).generation
    bench.sync(member_id, generation, {member_id: b"all"})
    bench = bench.restarted()
    assert isinstance(bench.heartbeat("unknown", generation, "shelf"), UnknownMember)
    assert bench.heartbeat(member_id, generation, "shelf") is None
    assert isinstance(bench.heartbeat("unknown", generation, "shelf"), FencedInstance)


def test_static_member_that_forgot_its_id_is_not_fenced(bench: GroupBench) -> None:
    token = bench.join(instance_id="shelf")
    bench.pass_ms(3_000)
    member_id, generation = bench.reply(token).member_id, bench.reply(token).generation
    bench.sync(member_id, generation, {member_id: b"all"})
    refused = bench.commit(1, "", generation, instance_id="shelf")
    assert isinstance(refused, UnknownMember)
    assert bench.committed() == -1
    assert bench.heartbeat(member_id, generation, "shelf") is None


def test_static_leader_that_comes_back_need_not_assign(bench: GroupBench) -> None:
    a, b = stable_static(bench)
    back = bench.ask(join_command(instance_id="a"))
    assert back.skip_assignment
    assert back.leader_id == back.member_id != a
    assert [m.member_id for m in back.members] == [back.member_id, b]


def test_static_leader_of_an_old_version_takes_itself_for_a_follower(bench: GroupBench) -> None:
    a, _ = stable_static(bench)
    back = bench.ask(join_command(instance_id="a", can_skip_assignment=False))
    assert not back.skip_assignment
    assert (back.leader_id, back.members) == (a, ())


def test_replacement_that_changes_the_protocol_rebalances(bench: GroupBench) -> None:
    both = (Protocol("range", b""), Protocol("sticky", b""))
    token = bench.join(instance_id="a", protocols=both)
    bench.pass_ms(3_000)
    bench.sync(bench.reply(token).member_id, 1)
    again = bench.join(instance_id="a", protocols=both[::-1])
    assert bench.reply(again).generation == 2
    assert bench.reply(again).protocol_name == "sticky"


def test_static_member_that_comes_back_while_joining_fences_its_predecessor(
    bench: GroupBench,
) -> None:
    first = bench.join(instance_id="a")
    second = bench.join(instance_id="a")
    assert isinstance(bench.reply(first), FencedInstance)
    bench.pass_ms(6_000)
    assert bench.reply(second).generation == 1
    assert len(bench.reply(second).members) == 1


def test_static_member_that_comes_back_while_syncing_rebalances(bench: GroupBench) -> None:
    first, second = bench.join(instance_id="a"), bench.join(instance_id="b")
    bench.pass_ms(6_000)
    waiting = bench.sync(bench.reply(second).member_id, 1)
    back = bench.join(instance_id="b")
    assert isinstance(bench.reply(waiting), FencedInstance)
    again = bench.join(bench.reply(first).member_id, instance_id="a")
    assert bench.reply(back).generation == bench.reply(again).generation == 2
