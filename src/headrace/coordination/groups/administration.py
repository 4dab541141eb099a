"""Listing and deleting groups of any kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.coordination.groups.commands import DeleteGroup, ListGroups
from headrace.coordination.groups.record_codecs import offset_tombstone
from headrace.coordination.shard import Decision, answer
from headrace.model.errors import GroupNotFound, NonEmptyGroup

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headrace.coordination.groups.registry import GroupRegistry
    from headrace.coordination.shard import Token


class Administration:
    """A GroupEngine (see ``registry.py``)."""

    def __init__(self, registry: GroupRegistry) -> None:
        self._registry = registry

    def deciders(self) -> Mapping[type, Callable[[Any, Token, int], Decision]]:
        return {ListGroups: self._list, DeleteGroup: self._delete}

    def replayers(self) -> Mapping[int, Callable[[bytes, bytes | None], None]]:
        return {}

    def loaded(self, now_ms: int) -> None:
        """Nothing to start: administration has no deadlines."""

    def _list(self, command: ListGroups, token: Token, now_ms: int) -> Decision:
        states = {state.lower() for state in command.states}
        kinds = {kind.lower() for kind in command.kinds}
        listed = [group.listed() for group in self._registry.groups.values()]
        chosen = [
            group
            for group in listed
            if (not states or group.state.lower() in states)
            and (not kinds or group.kind.lower() in kinds)
        ]
        return answer(token, chosen)

    def _delete(self, command: DeleteGroup, token: Token, now_ms: int) -> Decision:
        """Offsets first: a log that ends in between holds a group with fewer offsets, not offsets
        without their group. Those of open transactions go too."""
        group_id = command.group_id
        group = self._registry.groups.get(group_id)
        if group is None:
            raise GroupNotFound(f"there is no group {group_id!r}")
        if not group.is_empty():
            raise NonEmptyGroup(f"group {group_id!r} has members")
        partitions = self._registry.offsets.partitions_of(group_id)
        records = [offset_tombstone(group_id, partition) for partition in partitions]
        return Decision(records + group.tombstones(), [(token, None)])
