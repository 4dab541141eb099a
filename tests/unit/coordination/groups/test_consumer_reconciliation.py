from __future__ import annotations

import pytest

from headrace.coordination.groups.consumer_member import Member, MemberState
from headrace.coordination.groups.consumer_reconciliation import Target, reconcile
from headrace.model.errors import FencedMemberEpoch

A, B = b"a" * 16, b"b" * 16
BOTH = frozenset({A, B})
STABLE = MemberState.STABLE
UNREVOKED = MemberState.UNREVOKED_PARTITIONS
UNRELEASED = MemberState.UNRELEASED_PARTITIONS


def some(*partitions: int) -> frozenset[int]:
    return frozenset(partitions)


class Holders:
    """Who holds what; everything else is free."""

    def __init__(self, **partitions: str) -> None:
        self._held = {int(name[1:]): member_id for name, member_id in partitions.items()}

    def __call__(self, topic_id: bytes, partition: int) -> str | None:
        return self._held.get(partition) if topic_id == A else None


FREE = Holders()


def test_joiner_gets_its_whole_target_when_it_is_free() -> None:
    after = reconcile(Member("m"), Target(5, {A: some(0, 1)}), BOTH, {}, FREE)
    assert (after.state, after.epoch, after.previous_epoch) == (STABLE, 5, 0)
    assert after.assigned == {A: {0: 5, 1: 5}}


def test_member_at_the_target_epoch_stays_as_it_is() -> None:
    member = Member("m", epoch=5, assigned={A: {0: 5}})
    assert reconcile(member, Target(5, {A: some(0)}), BOTH, None, FREE) is member


def test_joiner_waits_for_partitions_that_others_hold() -> None:
    after = reconcile(Member("m"), Target(5, {A: some(0, 1)}), BOTH, {}, Holders(p0="other"))
    assert (after.state, after.epoch, after.assigned) == (UNRELEASED, 5, {A: {1: 5}})


def test_waiting_member_takes_what_became_free_and_remembers_in_which_epoch() -> None:
    waiting = Member("m", epoch=5, state=UNRELEASED, assigned={A: {1: 4}})
    after = reconcile(waiting, Target(5, {A: some(0, 1)}), BOTH, None, FREE)
    assert (after.state, after.assigned) == (STABLE, {A: {0: 5, 1: 4}})


def test_member_keeps_its_epoch_until_it_gave_up_what_it_must() -> None:
    member = Member("m", epoch=4, assigned={A: {0: 4, 1: 4}})
    target = Target(5, {A: some(1), B: some(0)})
    revoking = reconcile(member, target, BOTH, {A: some(0, 1)}, FREE)
    assert (revoking.state, revoking.epoch) == (UNREVOKED, 4)
    assert revoking.assigned == {A: {1: 4}}, "nothing new before the old is given up"
    assert revoking.revoking == {A: {0: 4}}
    done = reconcile(revoking, target, BOTH, {A: some(1)}, Holders(p0="m", p1="m"))
    assert (done.state, done.epoch, done.previous_epoch) == (STABLE, 5, 4)
    assert (done.assigned, done.revoking) == ({A: {1: 4}, B: {0: 5}}, {})


@pytest.mark.parametrize("owned", [None, {A: some(0, 1)}, {A: some(0)}])
def test_revoking_member_that_does_not_report_less_cannot_move(
    owned: dict[bytes, frozenset[int]] | None,
) -> None:
    member = Member("m", epoch=4, state=UNREVOKED, assigned={A: {1: 4}}, revoking={A: {0: 4}})
    assert reconcile(member, Target(6, {}), BOTH, owned, FREE) is member


def test_member_that_no_longer_reports_what_it_must_give_up_moves_on_at_once() -> None:
    member = Member("m", epoch=4, assigned={A: {0: 4, 1: 4}})
    after = reconcile(member, Target(5, {A: some(1)}), BOTH, {A: some(1)}, FREE)
    assert (after.state, after.epoch, after.assigned) == (STABLE, 5, {A: {1: 4}})


def test_revoked_partition_that_the_target_gives_back_is_free_for_its_holder() -> None:
    member = Member("m", epoch=4, state=UNREVOKED, assigned={}, revoking={A: {0: 4}})
    after = reconcile(member, Target(6, {A: some(0)}), BOTH, {}, Holders(p0="m"))
    assert (after.state, after.epoch, after.assigned) == (STABLE, 6, {A: {0: 6}})


def test_member_that_is_told_to_give_up_more_goes_on_revoking() -> None:
    member = Member("m", epoch=4, state=UNREVOKED, assigned={A: {1: 4}}, revoking={A: {0: 4}})
    after = reconcile(member, Target(7, {}), BOTH, {A: some(1)}, Holders(p0="m", p1="m"))
    assert (after.state, after.epoch) == (UNREVOKED, 4)
    assert (after.assigned, after.revoking) == ({}, {A: {1: 4}})


def test_target_of_a_topic_that_is_no_longer_subscribed_counts_for_nothing() -> None:
    after = reconcile(Member("m"), Target(5, {A: some(0), B: some(0)}), frozenset({B}), {}, FREE)
    assert after.assigned == {B: {0: 5}}


def test_unsubscribed_topic_is_taken_away_without_a_new_target() -> None:
    member = Member("m", epoch=5, assigned={A: {0: 5}, B: {0: 5}})
    target = Target(5, {A: some(0), B: some(0)})
    owned = {A: some(0), B: some(0)}
    after = reconcile(member, target, frozenset({B}), owned, FREE, subscription_changed=True)
    assert (after.state, after.epoch) == (UNREVOKED, 5)
    assert (after.assigned, after.revoking) == ({B: {0: 5}}, {A: {0: 5}})
    given_up = reconcile(member, target, frozenset({B}), {}, FREE, subscription_changed=True)
    assert (given_up.state, given_up.assigned, given_up.revoking) == (STABLE, {B: {0: 5}}, {})
    unchanged = reconcile(member, target, BOTH, owned, FREE, subscription_changed=True)
    assert unchanged is member


def test_member_in_an_unknown_state_must_start_over() -> None:
    member = Member("m", epoch=5, state=MemberState.UNKNOWN, assigned={A: {0: 5}})
    with pytest.raises(FencedMemberEpoch):
        reconcile(member, Target(6, {}), BOTH, {A: some(0)}, FREE)
    after = reconcile(member, Target(6, {A: some(1)}), BOTH, {}, FREE)
    assert (after.state, after.epoch, after.assigned) == (STABLE, 6, {A: {1: 6}})
