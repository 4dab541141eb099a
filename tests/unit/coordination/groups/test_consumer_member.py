from __future__ import annotations

from headrace.coordination.groups.consumer_member import Member, MemberState

A, B = b"a" * 16, b"b" * 16
MEMBER = Member("m", epoch=3, assigned={A: {0: 3, 1: 3}})


def test_member_owns_no_more_than_assigned_only_if_it_says_so() -> None:
    assert MEMBER.owns_no_more_than_assigned({})
    assert MEMBER.owns_no_more_than_assigned({A: frozenset({1})})
    assert not MEMBER.owns_no_more_than_assigned({A: frozenset({1, 2})})
    assert not MEMBER.owns_no_more_than_assigned({B: frozenset({0})})
    assert not MEMBER.owns_no_more_than_assigned(None)


def test_member_is_reconciled_when_stable_at_the_epoch() -> None:
    assert MEMBER.is_reconciled_to(3)
    assert not MEMBER.is_reconciled_to(4)
    waiting = MEMBER._replace(state=MemberState.UNRELEASED_PARTITIONS)
    assert not waiting.is_reconciled_to(3)


def test_states_of_other_versions_are_unknown() -> None:
    assert MemberState(0) is MemberState.STABLE
    assert MemberState(42) is MemberState.UNKNOWN
