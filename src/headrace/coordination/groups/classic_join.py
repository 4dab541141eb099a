"""JoinGroup: a member asks to be part of the next generation (KIP-345, 394, 429)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.coordination.groups.classic_group import ClassicGroup
from headrace.coordination.groups.classic_rebalance import answer_waiting, joined
from headrace.coordination.groups.classic_states import ClassicState
from headrace.coordination.groups.members import ClassicMember
from headrace.coordination.groups.record_codecs import NAME_BYTES_MAX, group_record
from headrace.coordination.shard import Decision, answer
from headrace.model.errors import (
    FencedInstance,
    GroupFull,
    InconsistentGroupProtocol,
    InvalidRequest,
    InvalidSessionTimeout,
    MemberIdRequired,
    RebalanceInProgress,
    UnknownMember,
)

if TYPE_CHECKING:
    from headrace.coordination.groups.classic_rebalance import Rebalances
    from headrace.coordination.groups.commands import JoinGroup
    from headrace.coordination.groups.registry import GroupRegistry
    from headrace.coordination.shard import Token

PENDING_IDS_MAX = 10_000
"""Most ids of one group that are handed out and not yet joined with; each costs a deadline."""

MEMBER_NAME_BYTES_MAX = NAME_BYTES_MAX - 64
"""Ids are made of a name and a UUID, and both have to fit into a field of the group's record."""


class Joins:
    """Decides JoinGroup."""

    def __init__(self, registry: GroupRegistry, rebalances: Rebalances) -> None:
        self._registry = registry
        self._settings = registry.settings
        self._rebalances = rebalances

    def join(self, command: JoinGroup, token: Token, now_ms: int) -> Decision:
        self._raise_if_illegal_session_timeout(command.session_timeout_ms)
        if not command.protocol_type or not command.protocols:
            raise InconsistentGroupProtocol("a member must name a protocol type and a protocol")
        _raise_if_too_long(command)
        decision = Decision([], [])
        group = self._group_for(command, decision)
        if not self._has_room(group, command.member_id):
            return self._turn_away(group, command, token)
        if not group.supports(command.protocol_type, command.protocols):
            raise InconsistentGroupProtocol(
                f"group {group.group_id!r} is of type {group.protocol_type!r} and has no protocol "
                f"in common with {[protocol.name for protocol in command.protocols]}"
            )
        if command.member_id:
            self._join_known(group, command, token, now_ms, decision)
        elif command.instance_id is None:
            self._join_new(group, command, token, now_ms, decision)
        else:
            self._join_static(group, command, token, now_ms, decision)
        return decision

    def _raise_if_illegal_session_timeout(self, timeout_ms: int) -> None:
        least_ms = self._settings.session_timeout_ms_min
        most_ms = self._settings.session_timeout_ms_max
        if not least_ms <= timeout_ms <= most_ms:
            raise InvalidSessionTimeout(
                f"session timeout {timeout_ms} ms is not between {least_ms} and {most_ms} ms"
            )

    def _group_for(self, command: JoinGroup, decision: Decision) -> ClassicGroup:
        """The group; a new one if a member without an id asks; an empty one of another kind is
        replaced."""
        groups = self._registry.groups
        group = groups.get(command.group_id)
        if isinstance(group, ClassicGroup):
            return group
        if group is not None and not group.is_empty():
            raise InconsistentGroupProtocol(
                f"group {command.group_id!r} has members of the {group.kind} protocol"
            )
        if command.member_id:
            raise UnknownMember(f"there is no group {command.group_id!r}")
        if group is not None:
            decision.records.extend(group.tombstones())
        created = ClassicGroup(command.group_id, self._registry.deadlines)
        groups[command.group_id] = created
        return created

    def _has_room(self, group: ClassicGroup, member_id: str) -> bool:
        """While a rebalance runs only those that have joined count, so that a group which is too
        large shrinks: the last to join again are turned away."""
        size_max = self._settings.classic_size_max
        member = group.members.get(member_id)
        if group.state is ClassicState.EMPTY:
            return True
        if group.state is ClassicState.PREPARING:
            has_joined = member is not None and member.is_awaiting_join
            return has_joined or group.joined_count < size_max
        return member is not None or len(group.members) < size_max

    def _turn_away(self, group: ClassicGroup, command: JoinGroup, token: Token) -> Decision:
        size_max = self._settings.classic_size_max
        full = GroupFull(f"group {group.group_id!r} has the {size_max} members it may have")
        decision = answer(token, full)
        self._rebalances.forget_pending(group, command.member_id)
        member = group.members.get(command.member_id)
        if member is not None:
            self._rebalances.remove(group, member, decision)
        return decision

    # --- new members ----------------------------------------------------------------------------

    def _join_new(
        self, group: ClassicGroup, command: JoinGroup, token: Token, now_ms: int, decision: Decision
    ) -> None:
        member_id = f"{command.client_id}-{self._registry.new_id()}"
        if command.member_id_required:
            if len(group.pending_ids) >= PENDING_IDS_MAX:
                raise GroupFull(f"group {group.group_id!r} has {PENDING_IDS_MAX} ids handed out")
            # A client that loses this answer leaves nothing behind but an id (KIP-394).
            self._rebalances.expect(group, member_id, now_ms + command.session_timeout_ms)
            decision.replies.append((token, MemberIdRequired(member_id)))
        else:
            self._add(group, command, member_id, token, now_ms, decision)

    def _join_static(
        self, group: ClassicGroup, command: JoinGroup, token: Token, now_ms: int, decision: Decision
    ) -> None:
        assert command.instance_id is not None
        member_id = f"{command.instance_id}-{self._registry.new_id()}"
        holder_id = group.static_ids.get(command.instance_id)
        if holder_id is None:
            self._add(group, command, member_id, token, now_ms, decision)
        else:
            holder = group.members[holder_id]
            self._replace_static(group, holder, member_id, command, token, now_ms, decision)

    def _add(
        self,
        group: ClassicGroup,
        command: JoinGroup,
        member_id: str,
        token: Token,
        now_ms: int,
        decision: Decision,
    ) -> None:
        member = ClassicMember(
            member_id,
            command.instance_id,
            command.client_id,
            command.client_host,
            command.session_timeout_ms,
            command.rebalance_timeout_ms,
            command.protocols,
        )
        member.is_new = True
        if not group.members:
            group.protocol_type = command.protocol_type
        group.add(member)
        group.park_join(member, token)
        group.has_grown = True
        self._rebalances.watch(group, member)
        group.extend_session(member, now_ms, self._settings.new_member_join_timeout_ms)
        self._rebalances.prepare_or_complete(group, now_ms, decision)

    # --- members that come back -----------------------------------------------------------------

    def _join_known(
        self, group: ClassicGroup, command: JoinGroup, token: Token, now_ms: int, decision: Decision
    ) -> None:
        if command.member_id in group.pending_ids and command.instance_id is None:
            self._rebalances.forget_pending(group, command.member_id)
            self._add(group, command, command.member_id, token, now_ms, decision)
            return
        member = group.raise_if_not_member(command.member_id, command.instance_id)
        is_unchanged = member.protocols == command.protocols
        is_leader = group.leader_id == member.member_id
        if group.state is ClassicState.COMPLETING:
            knows_already = is_unchanged
        elif group.state is ClassicState.STABLE:
            # The leader may know of a reason to assign anew that its metadata does not show.
            knows_already = is_unchanged and not is_leader
        else:
            knows_already = False
        if knows_already:
            # It lost our answer, or is done with a cooperative step: no rebalance (KIP-429).
            decision.replies.append((token, joined(group, member)))
            return
        self._update(group, member, command)
        overtaken = RebalanceInProgress("the member has sent another join")
        answer_waiting(group, member, overtaken, decision)
        group.park_join(member, token)
        self._rebalances.prepare_or_complete(group, now_ms, decision)

    def _update(self, group: ClassicGroup, member: ClassicMember, command: JoinGroup) -> None:
        group.set_protocols(member, command.protocols)
        member.session_timeout_ms = command.session_timeout_ms
        member.rebalance_timeout_ms = command.rebalance_timeout_ms

    def _replace_static(
        self,
        group: ClassicGroup,
        member: ClassicMember,
        new_id: str,
        command: JoinGroup,
        token: Token,
        now_ms: int,
        decision: Decision,
    ) -> None:
        """The instance restarted. If the group is stable and stays with its protocol, it takes
        its old place and assignment without a rebalance (KIP-345)."""
        self._update(group, member, command)
        group.extend_session(member, now_ms)
        if group.state is ClassicState.STABLE and group.elected_protocol() == group.protocol_name:
            self._store_replacement(group, member, new_id, command, token, now_ms, decision)
            return
        fenced = FencedInstance(f"instance {member.instance_id!r} joined as another member")
        answer_waiting(group, member, fenced, decision)
        group.rename(member.member_id, new_id)
        group.park_join(member, token)
        self._rebalances.prepare_or_complete(group, now_ms, decision)

    def _store_replacement(
        self,
        group: ClassicGroup,
        member: ClassicMember,
        new_id: str,
        command: JoinGroup,
        token: Token,
        now_ms: int,
        decision: Decision,
    ) -> None:
        """Only the record, when it is replayed, gives the member its new id."""
        old_id = member.member_id
        is_leader = group.leader_id == old_id
        stored = group.stored(now_ms)
        members = tuple(
            entry._replace(member_id=new_id) if entry.member_id == old_id else entry
            for entry in stored.members
        )
        leader_id = new_id if is_leader else stored.leader_id
        stored = stored._replace(members=members, leader_id=leader_id)
        decision.records.append(group_record(group.group_id, stored))
        reply = joined(group, member)._replace(member_id=new_id)
        if is_leader and command.can_skip_assignment:
            everybody = tuple(
                each._replace(member_id=new_id) if each.member_id == old_id else each
                for each in reply.members
            )
            reply = reply._replace(leader_id=new_id, members=everybody, skip_assignment=True)
        elif is_leader:
            # Told of the old leader it takes itself for a follower, and does not assign anew.
            reply = reply._replace(members=())
        decision.replies.append((token, reply))


def _raise_if_too_long(command: JoinGroup) -> None:
    """Flexible versions of the request can carry names that the group's record has no room for."""
    names = (
        command.client_id,
        command.instance_id or "",
        command.protocol_type,
        *(protocol.name for protocol in command.protocols),
    )
    if any(len(name.encode()) > MEMBER_NAME_BYTES_MAX for name in names):
        raise InvalidRequest(f"a name of a member has more than {MEMBER_NAME_BYTES_MAX} bytes")
