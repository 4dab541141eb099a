from __future__ import annotations

import pytest

from headrace.coordination.groups.commands import GroupKind
from headrace.coordination.groups.consumer_group import ConsumerGroup, GroupState
from headrace.coordination.groups.consumer_member import STATIC_LEAVE_EPOCH, Member, MemberState
from headrace.coordination.groups.consumer_records import (
    CurrentAssignment,
    GroupEpoch,
    ResolvedPattern,
    TargetEpoch,
)
from headrace.model.errors import StaleMemberEpoch, UnknownMember, UnsupportedVersion

A = b"a" * 16
STABLE = MemberState.STABLE


@pytest.fixture
def group() -> ConsumerGroup:
    """Two members; m1 owns partition 0 and is giving up 1."""
    group = ConsumerGroup("g")
    group.replay_epoch(GroupEpoch(5, 99))
    group.replay_target_epoch(TargetEpoch(5))
    group.replay_member(Member("m1", instance_id="i1", topic_names=frozenset({"t"})))
    group.replay_member(Member("m2", pattern="p.*"))
    group.replay_pattern("p.*", ResolvedPattern(frozenset({"p1"}), 1, 0))
    unrevoked = MemberState.UNREVOKED_PARTITIONS
    group.replay_current("m1", CurrentAssignment(4, 3, unrevoked, {A: {0: 3}}, {A: {1: 3}}))
    group.replay_current("m2", CurrentAssignment(5, 4, STABLE, {}, {}))
    return group


def test_state_follows_epochs_and_members(group: ConsumerGroup) -> None:
    assert ConsumerGroup("g").state is GroupState.EMPTY
    assert group.state is GroupState.RECONCILING
    group.replay_current("m1", CurrentAssignment(5, 4, STABLE, {A: {0: 3}}, {}))
    assert group.state is GroupState.STABLE
    group.replay_epoch(GroupEpoch(6))
    assert group.state is GroupState.ASSIGNING
    assert group.listed() == ("g", "consumer", "Assigning", GroupKind.CONSUMER)


def test_member_holds_what_it_owns_and_what_it_gives_up(group: ConsumerGroup) -> None:
    assert [group.holder(A, partition) for partition in (0, 1, 2)] == ["m1", "m1", None]
    group.replay_current("m1", CurrentAssignment(5, 4, STABLE, {A: {0: 3}}, {}))
    assert [group.holder(A, partition) for partition in (0, 1)] == ["m1", None]
    group.replay_member_removal("m1")
    assert group.holder(A, 0) is None


def test_partition_that_went_to_another_is_not_released_by_the_first(group: ConsumerGroup) -> None:
    group.replay_current("m2", CurrentAssignment(5, 4, STABLE, {A: {0: 5}}, {}))
    group.replay_current("m1", CurrentAssignment(5, 4, STABLE, {}, {}))
    assert group.holder(A, 0) == "m2"


def test_subscription_record_leaves_what_the_member_owns(group: ConsumerGroup) -> None:
    group.replay_member(Member("m1", instance_id="i2", topic_names=frozenset({"u"})))
    assert group.member("m1").assigned == {A: {0: 3}}
    assert group.member("m1").topic_names == {"u"}
    assert group.static_member("i1") is None
    assert group.static_member("i2") == group.member("m1")


def test_records_of_a_member_may_come_in_any_order() -> None:
    group = ConsumerGroup("g")
    group.replay_current("m", CurrentAssignment(5, 4, STABLE, {A: {0: 5}}, {}))
    group.replay_member(Member("m", topic_names=frozenset({"t"})))
    assert group.member("m").epoch == 5
    assert group.holder(A, 0) == "m"


def test_tombstones_of_unknown_members_change_nothing() -> None:
    group = ConsumerGroup("g")
    group.replay_current("m", None)
    group.replay_target("m", None)
    group.replay_member_removal("m")
    assert group.is_empty()


def test_group_is_subscribed_to_names_and_to_what_patterns_match(group: ConsumerGroup) -> None:
    assert [group.is_subscribed_to(name) for name in ("t", "p1", "p2")] == [True, True, False]


def test_commit_needs_the_present_epoch(group: ConsumerGroup) -> None:
    group.validate_offset_commit("m1", None, 4, is_epoch_checked=True)
    for epoch in (3, 5, -1):
        with pytest.raises(StaleMemberEpoch):
            group.validate_offset_commit("m1", None, epoch, is_epoch_checked=True)
    with pytest.raises(UnknownMember):
        group.validate_offset_commit("m3", None, 4, is_epoch_checked=True)
    with pytest.raises(UnknownMember):
        group.validate_offset_commit("", None, -1, is_epoch_checked=True)
    with pytest.raises(UnsupportedVersion):
        group.validate_offset_commit("m1", None, 4, is_epoch_checked=False)


def test_commit_without_membership_is_taken_while_nobody_is_there() -> None:
    empty = ConsumerGroup("g")
    empty.validate_offset_commit("", None, -1, is_epoch_checked=True)
    with pytest.raises(UnknownMember):
        empty.validate_offset_commit("m", None, 4, is_epoch_checked=True)


def test_producer_may_name_a_member_which_is_checked_then(group: ConsumerGroup) -> None:
    group.validate_transactional_commit("", None, -1)
    group.validate_transactional_commit("m1", None, 4)
    for epoch in (3, -1):
        with pytest.raises(StaleMemberEpoch):
            group.validate_transactional_commit("m1", None, epoch)
    with pytest.raises(UnknownMember):
        group.validate_transactional_commit("m3", None, 4)
    ConsumerGroup("empty").validate_transactional_commit("m3", None, -1)


def test_commit_of_a_static_member_that_left_is_refused(group: ConsumerGroup) -> None:
    left = CurrentAssignment(STATIC_LEAVE_EPOCH, 4, STABLE, {}, {})
    group.replay_current("m1", left)
    with pytest.raises(StaleMemberEpoch):
        group.validate_offset_commit("m1", "i1", STATIC_LEAVE_EPOCH, is_epoch_checked=True)


def test_fetch_of_offsets_needs_the_present_epoch_or_no_claim(group: ConsumerGroup) -> None:
    group.validate_offset_fetch(None, -1)
    group.validate_offset_fetch("m1", 4)
    with pytest.raises(StaleMemberEpoch):
        group.validate_offset_fetch("m1", 3)
    with pytest.raises(UnknownMember):
        group.validate_offset_fetch("m3", 3)


def test_offsets_of_topics_out_of_use_expire_by_their_commit(group: ConsumerGroup) -> None:
    assert group.offset_unused_since_ms(77) == 77
