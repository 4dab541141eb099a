"""The rebalance of a classic group: from calling its members to fixing the next generation.

Every method adds to the decision it is given, because one command may answer many callers. Only two
steps write a record: a group that becomes empty, here, and the leader's assignment, in
``classic_sync.py``. The rest is soft and may be lost in a crash (see ``classic_states.py``).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from headrace.coordination.groups.classic_states import ClassicState
from headrace.coordination.groups.commands import Joined
from headrace.coordination.groups.record_codecs import group_record
from headrace.coordination.shard import Decision
from headrace.model.errors import HeadraceError, RebalanceInProgress, UnknownMember

if TYPE_CHECKING:
    from headrace.coordination.groups.classic_group import ClassicGroup
    from headrace.coordination.groups.members import ClassicMember
    from headrace.coordination.groups.registry import GroupRegistry
    from headrace.coordination.shard import Token

_PENDING = "pending"
_JOIN = "join"
_SYNC = "sync"


class Rebalances:
    """Drives the classic groups of one shard through their states."""

    def __init__(self, registry: GroupRegistry) -> None:
        self._settings = registry.settings
        self._deadlines = registry.deadlines

    # --- starting -------------------------------------------------------------------------------

    def prepare_or_complete(self, group: ClassicGroup, now_ms: int, decision: Decision) -> None:
        """Something about the group's members has changed."""
        if group.state is ClassicState.PREPARING:
            self.complete_if_everybody_joined(group, now_ms, decision)
        else:
            self.prepare(group, now_ms, decision)

    def prepare(self, group: ClassicGroup, now_ms: int, decision: Decision) -> None:
        """Call all members to join again."""
        if group.state is ClassicState.COMPLETING:
            self._send_back_from_sync(group, now_ms, decision)
        group.unsynced_ids.clear()
        self._deadlines.cancel((_SYNC, group.group_id))
        is_first = group.state is ClassicState.EMPTY
        group.change_state(ClassicState.PREPARING, now_ms)
        if is_first:
            # Others are probably about to start as well: one rebalance for all (KIP-134).
            group.has_grown = False
            delay_ms = self._settings.initial_rebalance_delay_ms
            left_ms = max(group.rebalance_timeout_ms - delay_ms, 0)
            self._delay_first(group, delay_ms, left_ms, now_ms)
        elif group.has_everybody_joined:
            self._complete(group, now_ms, decision)
        else:
            self._await_joins(group, now_ms)

    def complete_if_everybody_joined(
        self, group: ClassicGroup, now_ms: int, decision: Decision
    ) -> None:
        """The first rebalance of an empty group is not cut short: its delay decides."""
        is_first = group.previous_state is ClassicState.EMPTY
        if group.state is ClassicState.PREPARING and not is_first and group.has_everybody_joined:
            self._complete(group, now_ms, decision)

    def _await_joins(self, group: ClassicGroup, now_ms: int) -> None:
        due_ms = now_ms + group.rebalance_timeout_ms
        self._deadlines.set((_JOIN, group.group_id), due_ms, partial(self._time_out, group))

    def _time_out(self, group: ClassicGroup, now_ms: int) -> Decision:
        decision = Decision([], [])
        if group.state is ClassicState.PREPARING:
            self._complete(group, now_ms, decision)
        return decision

    def _delay_first(self, group: ClassicGroup, delay_ms: int, left_ms: int, now_ms: int) -> None:
        action = partial(self._end_first_delay, group, delay_ms, left_ms)
        self._deadlines.set((_JOIN, group.group_id), now_ms + delay_ms, action)

    def _end_first_delay(
        self, group: ClassicGroup, delay_ms: int, left_ms: int, now_ms: int
    ) -> Decision:
        """Wait once more if somebody came meanwhile, but never longer than the members allow."""
        if group.has_grown and left_ms > 0:
            group.has_grown = False
            next_delay_ms = min(self._settings.initial_rebalance_delay_ms, left_ms)
            self._delay_first(group, next_delay_ms, max(left_ms - delay_ms, 0), now_ms)
            return Decision([], [])
        return self._time_out(group, now_ms)

    # --- completing the join phase --------------------------------------------------------------

    def _complete(self, group: ClassicGroup, now_ms: int, decision: Decision) -> None:
        """Drop the stragglers and start the next generation."""
        self._deadlines.cancel((_JOIN, group.group_id))
        for member in list(group.members.values()):
            # A static member is expected back: only the end of its session removes it.
            if member.instance_id is None and not member.is_awaiting_join:
                group.remove(member)
        if group.members and not group.elect_joined_leader():
            self._await_joins(group, now_ms)
            return
        group.start_generation(now_ms)
        if group.state is ClassicState.EMPTY:
            decision.records.append(group_record(group.group_id, group.stored(now_ms)))
            return
        for member in group.members.values():
            group.unsynced_ids.add(member.member_id)
            member.is_new = False
            group.extend_session(member, now_ms)
            token = group.take_join_token(member)
            if token is not None:
                decision.replies.append((token, joined(group, member)))
        due_ms = now_ms + group.rebalance_timeout_ms
        action = partial(self._drop_unsynced, group, group.generation)
        self._deadlines.set((_SYNC, group.group_id), due_ms, action)

    # --- the sync phase -------------------------------------------------------------------------

    def note_synced(self, group: ClassicGroup, member_id: str) -> None:
        group.unsynced_ids.discard(member_id)
        if not group.unsynced_ids:
            self._deadlines.cancel((_SYNC, group.group_id))

    def _send_back_from_sync(self, group: ClassicGroup, now_ms: int, decision: Decision) -> None:
        for member in group.members.values():
            member.assignment = b""
            token, member.sync_token = member.sync_token, None
            if token is not None:
                decision.replies.append((token, RebalanceInProgress("the group rebalances again")))
                group.extend_session(member, now_ms)

    def _drop_unsynced(self, group: ClassicGroup, generation: int, now_ms: int) -> Decision:
        """Members that took a generation but never asked what it gave them are gone."""
        decision = Decision([], [])
        is_over = group.generation != generation or group.state not in (
            ClassicState.COMPLETING,
            ClassicState.STABLE,
        )
        if is_over or not group.unsynced_ids:
            return decision
        for member_id in sorted(group.unsynced_ids):
            self.remove(group, group.members[member_id], decision)
        self.prepare(group, now_ms, decision)
        return decision

    # --- members that go ------------------------------------------------------------------------

    def expect(self, group: ClassicGroup, member_id: str, due_ms: int) -> None:
        """An id was handed out; whoever got it must join with it before ``due_ms``."""
        group.pending_ids.add(member_id)
        action = partial(self._expire_pending, group, member_id)
        self._deadlines.set((_PENDING, group.group_id, member_id), due_ms, action)

    def forget_pending(self, group: ClassicGroup, member_id: str) -> None:
        group.pending_ids.discard(member_id)
        self._deadlines.cancel((_PENDING, group.group_id, member_id))

    def _expire_pending(self, group: ClassicGroup, member_id: str, now_ms: int) -> Decision:
        decision = Decision([], [])
        group.pending_ids.discard(member_id)
        if group.state is ClassicState.PREPARING and group.has_everybody_joined:
            self._complete(group, now_ms, decision)
        return decision

    def watch(self, group: ClassicGroup, member: ClassicMember) -> None:
        """Say what happens when the member's session ends; it starts with ``extend_session``."""
        member.expire = partial(self._expire, group, member)

    def _expire(self, group: ClassicGroup, member: ClassicMember, now_ms: int) -> Decision:
        decision = Decision([], [])
        if group.members.get(member.member_id) is not member or member.is_kept_alive_by_waiting:
            return decision
        self.remove(group, member, decision)
        if group.state is not ClassicState.PREPARING:
            self.prepare(group, now_ms, decision)
        elif group.has_everybody_joined:
            self._complete(group, now_ms, decision)
        return decision

    def remove(
        self,
        group: ClassicGroup,
        member: ClassicMember,
        decision: Decision,
        reason: type[HeadraceError] = UnknownMember,
    ) -> None:
        """Take a member out and tell whoever waits in its name."""
        answer_waiting(group, member, reason(f"{member.member_id!r} has been removed"), decision)
        group.remove(member)


def joined(group: ClassicGroup, member: ClassicMember) -> Joined:
    """The answer to a join in the generation that the group has now."""
    is_leader = group.leader_id == member.member_id
    return Joined(
        group.generation,
        group.protocol_type,
        group.protocol_name,
        group.leader_id or "",
        member.member_id,
        group.joined_members() if is_leader else (),
    )


def answer_waiting(
    group: ClassicGroup, member: ClassicMember, error: HeadraceError, decision: Decision
) -> None:
    """Every request gets one answer, also one that a newer request or a removal overtakes."""
    sync_token, member.sync_token = member.sync_token, None
    tokens: tuple[Token | None, ...] = (group.take_join_token(member), sync_token)
    decision.replies.extend((token, error) for token in tokens if token is not None)
