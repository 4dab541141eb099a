"""What a heartbeat of the consumer protocol has to satisfy (KIP-848, KIP-1082)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.coordination.groups.consumer_member import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    NO_REBALANCE_TIMEOUT,
    STATIC_LEAVE_EPOCH,
)
from headrace.coordination.groups.record_codecs import NAME_BYTES_MAX
from headrace.model.errors import (
    FencedInstance,
    FencedMemberEpoch,
    InvalidRequest,
    UnknownMember,
    UnsupportedAssignor,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.coordination.groups.consumer_commands import ConsumerHeartbeat
    from headrace.coordination.groups.consumer_member import Member


def raise_if_invalid_heartbeat(command: ConsumerHeartbeat, assignors: Sequence[str]) -> None:
    """Faults that can be seen without knowing the group."""
    _raise_if_badly_named(command)
    epoch = command.member_epoch
    if epoch == JOIN_EPOCH:
        _raise_if_incomplete_join(command)
    elif epoch == STATIC_LEAVE_EPOCH:
        if command.instance_id is None:
            raise InvalidRequest("a static leave needs an instance id")
    elif epoch < LEAVE_EPOCH:
        raise InvalidRequest(f"member epoch {epoch} is invalid")
    if command.assignor is not None and command.assignor not in assignors:
        raise UnsupportedAssignor(
            f"assignor {command.assignor!r} is not supported; there are: {', '.join(assignors)}"
        )


def raise_if_fenced(member: Member, command: ConsumerHeartbeat) -> None:
    """The epoch has to be the member's.

    The one before will do from a client that owns nothing it should not: the answer that carried
    the new epoch may have been lost.
    """
    epoch = command.member_epoch
    if epoch == member.epoch:
        return
    if epoch == member.previous_epoch and member.owns_no_more_than_assigned(command.owned):
        return
    raise FencedMemberEpoch(
        f"member {member.member_id!r} is at epoch {member.epoch}, the request says {epoch}: "
        "it must give up all its partitions and join again"
    )


def raise_if_other_member(static: Member | None, command: ConsumerHeartbeat) -> Member:
    """The static member of this instance id, which has to be the caller."""
    if static is None:
        raise UnknownMember(f"instance {command.instance_id!r} is not a member of the group")
    if static.member_id != command.member_id:
        raise FencedInstance(
            f"instance {command.instance_id!r} belongs to member {static.member_id!r} now"
        )
    return static


def _raise_if_badly_named(command: ConsumerHeartbeat) -> None:
    if not command.group_id:
        raise InvalidRequest("the group id must not be empty")
    # Since KIP-1082 clients make their own ids; older ones get theirs in answer to the join.
    is_id_optional = command.may_lack_member_id and command.member_epoch == JOIN_EPOCH
    if not command.member_id and not is_id_optional:
        raise InvalidRequest("the member id must not be empty")
    if len(command.member_id.encode()) > NAME_BYTES_MAX:
        raise InvalidRequest(f"the member id has more than {NAME_BYTES_MAX} bytes")
    if command.instance_id == "":
        raise InvalidRequest("the instance id must not be empty")
    if command.rack_id == "":
        raise InvalidRequest("the rack id must not be empty")


def _raise_if_incomplete_join(command: ConsumerHeartbeat) -> None:
    if command.rebalance_timeout_ms == NO_REBALANCE_TIMEOUT:
        raise InvalidRequest("a join needs a rebalance time-out")
    if command.owned != {}:
        raise InvalidRequest("who joins must own no partitions, and say so")
    if command.topic_names is None and command.pattern is None:
        raise InvalidRequest("a join needs topic names or a pattern, even if empty")
