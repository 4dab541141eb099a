"""SyncGroup and Heartbeat: a member asks for its assignment, and then says that it lives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.coordination.groups.classic_group import ClassicGroup
from headrace.coordination.groups.classic_states import ClassicState
from headrace.coordination.groups.commands import Synced
from headrace.coordination.groups.members import NO_ASSIGNMENT
from headrace.coordination.groups.record_codecs import group_record
from headrace.coordination.shard import Decision, answer
from headrace.model.errors import (
    InconsistentGroupProtocol,
    RebalanceInProgress,
    UnknownMember,
)

if TYPE_CHECKING:
    from headrace.coordination.groups.classic_rebalance import Rebalances
    from headrace.coordination.groups.commands import Heartbeat, SyncGroup
    from headrace.coordination.groups.members import ClassicMember
    from headrace.coordination.groups.registry import GroupRegistry
    from headrace.coordination.shard import Token


class Syncs:
    """Decides SyncGroup and Heartbeat."""

    def __init__(self, registry: GroupRegistry, rebalances: Rebalances) -> None:
        self._groups = registry.groups
        self._rebalances = rebalances

    def sync(self, command: SyncGroup, token: Token, now_ms: int) -> Decision:
        group = self._raise_if_not_classic(command.group_id)
        member = group.raise_if_not_of_generation(
            command.member_id, command.instance_id, command.generation
        )
        _raise_if_other_protocol(group, command)
        if group.state is ClassicState.PREPARING:
            raise RebalanceInProgress(f"group {group.group_id!r} is rebalancing")
        self._rebalances.note_synced(group, member.member_id)
        if group.state is ClassicState.STABLE:
            return answer(token, _synced(group, member.assignment))
        decision = Decision([], [])
        if member.sync_token is not None:
            error = RebalanceInProgress("the member has sent another sync")
            decision.replies.append((member.sync_token, error))
        member.sync_token = token
        if group.leader_id == member.member_id:
            self._assign(group, command.assignments, now_ms, decision)
        return decision

    def _assign(
        self, group: ClassicGroup, given: dict[str, bytes], now_ms: int, decision: Decision
    ) -> None:
        """Write the assignment and tell all that wait. Replaying the record makes it Stable."""
        decision.records.append(group_record(group.group_id, group.stored(now_ms, given)))
        for member in group.members.values():
            token, member.sync_token = member.sync_token, None
            if token is not None:
                assignment = given.get(member.member_id, NO_ASSIGNMENT)
                decision.replies.append((token, _synced(group, assignment)))
                group.extend_session(member, now_ms)

    def heartbeat(self, command: Heartbeat, token: Token, now_ms: int) -> Decision:
        """Warm. Only a rebalance has to be told, and it does not cost the member its session."""
        group = self._raise_if_not_classic(command.group_id)
        member: ClassicMember = group.raise_if_not_of_generation(
            command.member_id, command.instance_id, command.generation
        )
        group.extend_session(member, now_ms)
        if group.state is ClassicState.PREPARING:
            raise RebalanceInProgress(f"group {group.group_id!r} is rebalancing")
        return answer(token, None)

    def _raise_if_not_classic(self, group_id: str) -> ClassicGroup:
        group = self._groups.get(group_id)
        if not isinstance(group, ClassicGroup):
            raise UnknownMember(f"there is no classic group {group_id!r}")
        return group


def _raise_if_other_protocol(group: ClassicGroup, command: SyncGroup) -> None:
    """Clients of old versions do not say; those that do must agree with the group."""
    for given, agreed in (
        (command.protocol_type, group.protocol_type),
        (command.protocol_name, group.protocol_name),
    ):
        if given is not None and agreed is not None and given != agreed:
            raise InconsistentGroupProtocol(f"the group uses {agreed!r}, the member {given!r}")


def _synced(group: ClassicGroup, assignment: bytes) -> Synced:
    return Synced(group.protocol_type, group.protocol_name, assignment)
