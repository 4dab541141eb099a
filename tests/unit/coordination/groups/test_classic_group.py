"""A classic group by itself: votes, leaders, subscriptions, and the table of its states."""

from __future__ import annotations

import pytest

from headrace.coordination.groups.classic_group import ClassicGroup
from headrace.coordination.groups.classic_states import LEGAL_CHANGES, ClassicState
from headrace.coordination.groups.commands import Protocol
from headrace.coordination.groups.deadlines import Deadlines
from headrace.coordination.groups.members import ClassicMember

TO_T = b"\x00\x00\x00\x00\x00\x01\x00\x01t"


def member(member_id: str, *names: str, instance_id: str | None = None) -> ClassicMember:
    protocols = tuple(Protocol(name, TO_T) for name in names or ("range",))
    return ClassicMember(member_id, instance_id, "c", "/h", 10_000, 30_000, protocols)


@pytest.fixture
def group() -> ClassicGroup:
    return ClassicGroup("g", Deadlines())


def test_first_member_leads_and_is_succeeded(group: ClassicGroup) -> None:
    first, second = member("a"), member("b")
    group.add(first)
    group.add(second)
    assert group.leader_id == "a"
    group.remove(first)
    assert group.leader_id == "b"
    group.remove(second)
    assert group.leader_id is None


def test_leader_that_has_not_joined_is_replaced_by_one_that_has(group: ClassicGroup) -> None:
    first, second = member("a"), member("b")
    group.add(first)
    group.add(second)
    assert not group.elect_joined_leader()
    group.park_join(second, "token")
    assert group.elect_joined_leader()
    assert group.leader_id == "b"


def test_votes_decide_among_common_protocols(group: ClassicGroup) -> None:
    group.add(member("a", "x", "y"))
    group.add(member("b", "y", "x"))
    group.add(member("c", "z", "y", "x"))
    assert group.elected_protocol() == "y"
    group.set_protocols(group.members["c"], (Protocol("x", b""),))
    assert group.elected_protocol() == "x"


def test_subscription_is_known_when_all_members_tell_it(group: ClassicGroup) -> None:
    group.protocol_type, group.protocol_name = "consumer", "range"
    group.add(member("a"))
    group.note_subscribed_topics()
    assert (group.is_subscribed_to("t"), group.is_subscribed_to("u")) == (True, False)
    group.set_protocols(group.members["a"], (Protocol("range", b"?"),))
    group.note_subscribed_topics()
    assert group.is_subscribed_to("u")
    group.protocol_type = "connect"
    group.note_subscribed_topics()
    assert not group.is_subscribed_to("t")


def test_static_member_keeps_its_place_when_it_is_renamed(group: ClassicGroup) -> None:
    group.add(member("a", instance_id="i"))
    group.add(member("b"))
    group.unsynced_ids.add("a")
    group.rename("a", "new")
    assert list(group.members) == ["new", "b"]
    assert (group.static_ids, group.leader_id) == ({"i": "new"}, "new")
    assert group.unsynced_ids == {"new"}


def test_illegal_change_of_state_is_caught(group: ClassicGroup) -> None:
    for state in ClassicState:
        if state not in LEGAL_CHANGES[group.state]:
            with pytest.raises(AssertionError):
                group.change_state(state, 1)
    assert not LEGAL_CHANGES[ClassicState.DEAD]


def test_rebalance_timeout_is_the_longest_of_all(group: ClassicGroup) -> None:
    assert group.rebalance_timeout_ms == 0
    group.add(member("a"))
    group.add(member("b"))
    group.members["b"].rebalance_timeout_ms = 60_000
    assert group.rebalance_timeout_ms == 60_000
