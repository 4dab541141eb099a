"""LeaveGroup: members go, one by one or in a batch, by themselves or sent by an administrator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.coordination.groups.classic_group import ClassicGroup
from headrace.coordination.groups.classic_states import ClassicState
from headrace.coordination.shard import Decision
from headrace.model.errors import HeadraceError, UnknownMember

if TYPE_CHECKING:
    from headrace.coordination.groups.classic_rebalance import Rebalances
    from headrace.coordination.groups.commands import LeaveGroup, LeavingMember
    from headrace.coordination.groups.registry import GroupRegistry
    from headrace.coordination.shard import Token


class Leaves:
    """Decides LeaveGroup."""

    def __init__(self, registry: GroupRegistry, rebalances: Rebalances) -> None:
        self._groups = registry.groups
        self._rebalances = rebalances

    def leave(self, command: LeaveGroup, token: Token, now_ms: int) -> Decision:
        group = self._groups.get(command.group_id)
        if not isinstance(group, ClassicGroup):
            raise UnknownMember(f"there is no classic group {command.group_id!r}")
        decision = Decision([], [])
        outcomes: list[HeadraceError | None] = []
        for leaving in command.members:
            try:
                self._leave_one(group, leaving, decision)
                outcomes.append(None)
            except HeadraceError as error:
                outcomes.append(error)
        decision.replies.append((token, outcomes))
        has_left = any(outcome is None for outcome in outcomes)
        if has_left and group.state is not ClassicState.EMPTY:
            self._rebalances.prepare_or_complete(group, now_ms, decision)
        return decision

    def _leave_one(self, group: ClassicGroup, leaving: LeavingMember, decision: Decision) -> None:
        member_id = leaving.member_id
        if member_id in group.pending_ids:
            self._rebalances.forget_pending(group, member_id)
            return
        if not member_id and leaving.instance_id is not None:
            # An administrator knows the instance, not the member id it has at present.
            member_id = group.static_ids.get(leaving.instance_id, "")
        member = group.raise_if_not_member(member_id, leaving.instance_id)
        self._rebalances.remove(group, member, decision)
