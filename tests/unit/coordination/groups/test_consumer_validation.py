from __future__ import annotations

import pytest

from headrace.coordination.groups.consumer_commands import ConsumerHeartbeat
from headrace.coordination.groups.consumer_member import Member
from headrace.coordination.groups.consumer_validation import (
    raise_if_fenced,
    raise_if_invalid_heartbeat,
    raise_if_other_member,
)
from headrace.model.errors import (
    FencedInstance,
    FencedMemberEpoch,
    HeadraceError,
    InvalidRequest,
    UnknownMember,
    UnsupportedAssignor,
)

A = b"a" * 16
JOIN = ConsumerHeartbeat(
    "g", "m", 0, rebalance_timeout_ms=1_000, topic_names=frozenset({"t"}), owned={}
)
MEMBER = Member("m", epoch=5, previous_epoch=4, assigned={A: {0: 4}})


@pytest.mark.parametrize(
    "command",
    [
        JOIN,
        JOIN._replace(topic_names=None, pattern=""),
        JOIN._replace(member_id="", may_lack_member_id=True),
        ConsumerHeartbeat("g", "m", 7),
        ConsumerHeartbeat("g", "m", -1),
        ConsumerHeartbeat("g", "m", -2, instance_id="i"),
        ConsumerHeartbeat("g", "m", 7, assignor="range"),
    ],
)
def test_valid_heartbeat_passes(command: ConsumerHeartbeat) -> None:
    assert raise_if_invalid_heartbeat(command, ["uniform", "range"]) is None


@pytest.mark.parametrize(
    ("command", "error"),
    [
        (JOIN._replace(group_id=""), InvalidRequest),
        (JOIN._replace(member_id=""), InvalidRequest),
        (JOIN._replace(member_id="m" * 32_768), InvalidRequest),
        (JOIN._replace(instance_id=""), InvalidRequest),
        (JOIN._replace(rack_id=""), InvalidRequest),
        (JOIN._replace(rebalance_timeout_ms=-1), InvalidRequest),
        (JOIN._replace(owned=None), InvalidRequest),
        (JOIN._replace(owned={A: frozenset({0})}), InvalidRequest),
        (JOIN._replace(topic_names=None), InvalidRequest),
        (ConsumerHeartbeat("g", "", 7, may_lack_member_id=True), InvalidRequest),
        (ConsumerHeartbeat("g", "m", -2), InvalidRequest),
        (ConsumerHeartbeat("g", "m", -3), InvalidRequest),
        (JOIN._replace(assignor="round-robin"), UnsupportedAssignor),
    ],
)
def test_invalid_heartbeat_is_refused(
    command: ConsumerHeartbeat, error: type[HeadraceError]
) -> None:
    with pytest.raises(error):
        raise_if_invalid_heartbeat(command, ["uniform", "range"])


def test_present_epoch_passes_whatever_the_member_owns() -> None:
    assert raise_if_fenced(MEMBER, ConsumerHeartbeat("g", "m", 5)) is None


def test_previous_epoch_passes_from_a_member_that_owns_no_more_than_it_should() -> None:
    command = ConsumerHeartbeat("g", "m", 4, owned={A: frozenset({0})})
    assert raise_if_fenced(MEMBER, command) is None
    for owned in (None, {A: frozenset({1})}):
        with pytest.raises(FencedMemberEpoch):
            raise_if_fenced(MEMBER, command._replace(owned=owned))


@pytest.mark.parametrize("epoch", [1, 3, 6])
def test_other_epochs_are_fenced(epoch: int) -> None:
    with pytest.raises(FencedMemberEpoch):
        raise_if_fenced(MEMBER, ConsumerHeartbeat("g", "m", epoch, owned={}))


def test_instance_must_be_that_of_the_caller() -> None:
    command = ConsumerHeartbeat("g", "m", 5, instance_id="i")
    assert raise_if_other_member(MEMBER, command) is MEMBER
    with pytest.raises(UnknownMember):
        raise_if_other_member(None, command)
    with pytest.raises(FencedInstance):
        raise_if_other_member(MEMBER._replace(member_id="other"), command)
