"""The engine of classic groups: which command goes where, and what a group record means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.coordination.groups.classic_group import ClassicGroup
from headrace.coordination.groups.classic_join import Joins
from headrace.coordination.groups.classic_leave import Leaves
from headrace.coordination.groups.classic_rebalance import Rebalances, answer_waiting
from headrace.coordination.groups.classic_sync import Syncs
from headrace.coordination.groups.commands import (
    DescribeGroup,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    SyncGroup,
)
from headrace.coordination.groups.record_codecs import read_group, read_group_key
from headrace.coordination.groups.records import GROUP_KEY
from headrace.coordination.shard import Decision, answer
from headrace.model.errors import GroupNotFound

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headrace.coordination.groups.registry import GroupRegistry
    from headrace.coordination.shard import Token
    from headrace.model.errors import HeadraceError


class ClassicGroups:
    """A GroupEngine (see ``registry.py``)."""

    def __init__(self, registry: GroupRegistry) -> None:
        self._registry = registry
        self._rebalances = Rebalances(registry)
        self._joins = Joins(registry, self._rebalances)
        self._syncs = Syncs(registry, self._rebalances)
        self._leaves = Leaves(registry, self._rebalances)
        self._is_loading = True

    def deciders(self) -> Mapping[type, Callable[[Any, Token, int], Decision]]:
        return {
            JoinGroup: self._joins.join,
            SyncGroup: self._syncs.sync,
            Heartbeat: self._syncs.heartbeat,
            LeaveGroup: self._leaves.leave,
            DescribeGroup: self._describe,
        }

    def replayers(self) -> Mapping[int, Callable[[bytes, bytes | None], None]]:
        return {GROUP_KEY: self._replay_group}

    def loaded(self, now_ms: int) -> None:
        """Give every member that was there a whole session to show itself again."""
        self._is_loading = False
        for group in self._registry.groups.values():
            if not isinstance(group, ClassicGroup):
                continue
            for member in group.members.values():
                self._rebalances.watch(group, member)
                group.extend_session(member, now_ms)
            if len(group.members) > self._registry.settings.classic_size_max:
                # Nobody has joined yet, so this answers nobody and writes nothing.
                self._rebalances.prepare(group, now_ms, Decision([], []))

    def unload(self, reason: HeadraceError) -> Decision:
        """The shard ends: whoever waits is sent away."""
        decision = Decision([], [])
        for group in self._registry.groups.values():
            if isinstance(group, ClassicGroup):
                for member in group.members.values():
                    answer_waiting(group, member, reason, decision)
        return decision

    def _describe(self, command: DescribeGroup, token: Token, now_ms: int) -> Decision:
        group = self._registry.groups.get(command.group_id)
        if not isinstance(group, ClassicGroup):
            raise GroupNotFound(f"there is no classic group {command.group_id!r}")
        return answer(token, group.described())

    def _replay_group(self, key: bytes, value: bytes | None) -> None:
        groups = self._registry.groups
        group_id = read_group_key(key)
        group = groups.get(group_id)
        if value is None:
            if isinstance(group, ClassicGroup):
                del groups[group_id]
                group.end()
            return
        stored = read_group(value)
        if isinstance(group, ClassicGroup) and not self._is_loading:
            group.apply_stored(stored)
        else:
            deadlines = self._registry.deadlines
            groups[group_id] = ClassicGroup.restore(group_id, deadlines, stored)
