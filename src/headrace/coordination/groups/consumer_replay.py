"""Applies the records of consumer groups: the only way in which their persistent state changes.

Tolerant of what compaction leaves: records of a member in any order, and tombstones of what is not
known any more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.coordination.groups import consumer_records as stored
from headrace.coordination.groups.consumer_group import ConsumerGroup

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headrace.coordination.groups.registry import Group


class ConsumerReplay:
    """Works on the groups of one shard, of which those of other kinds are not its business."""

    def __init__(self, groups: dict[str, Group]) -> None:
        self._groups = groups

    def replayers(self) -> Mapping[int, Callable[[bytes, bytes | None], None]]:
        return {
            stored.GROUP_EPOCH_KEY: self._replay_epoch,
            stored.PARTITION_METADATA_KEY: self._replay_partition_metadata,
            stored.MEMBER_KEY: self._replay_member,
            stored.TARGET_EPOCH_KEY: self._replay_target_epoch,
            stored.TARGET_MEMBER_KEY: self._replay_target,
            stored.CURRENT_ASSIGNMENT_KEY: self._replay_current,
            stored.PATTERN_KEY: self._replay_pattern,
        }

    def _replayed(self, group_id: str, value: bytes | None) -> ConsumerGroup | None:
        """The group that a record is about. A tombstone makes no group."""
        group = self._groups.get(group_id)
        if isinstance(group, ConsumerGroup):
            return group
        if value is None:
            return None
        created = ConsumerGroup(group_id)
        self._groups[group_id] = created
        return created

    def _replay_epoch(self, key: bytes, value: bytes | None) -> None:
        group_id = stored.read_group_key(key)
        group = self._replayed(group_id, value)
        if value is not None and group is not None:
            group.replay_epoch(stored.read_group_epoch(value))
        elif group is not None:
            del self._groups[group_id]

    def _replay_partition_metadata(self, key: bytes, value: bytes | None) -> None:
        group = self._replayed(stored.read_group_key(key), value)
        if group is not None:
            group.has_partition_metadata = value is not None

    def _replay_member(self, key: bytes, value: bytes | None) -> None:
        group_id, member_id = stored.read_member_key(key)
        group = self._replayed(group_id, value)
        if group is None:
            return
        if value is None:
            group.replay_member_removal(member_id)
        else:
            group.replay_member(stored.read_member(member_id, value))

    def _replay_target_epoch(self, key: bytes, value: bytes | None) -> None:
        group = self._replayed(stored.read_group_key(key), value)
        if group is not None:
            epoch = stored.TargetEpoch(0) if value is None else stored.read_target_epoch(value)
            group.replay_target_epoch(epoch)

    def _replay_target(self, key: bytes, value: bytes | None) -> None:
        group_id, member_id = stored.read_member_key(key)
        group = self._replayed(group_id, value)
        if group is not None:
            target = None if value is None else stored.read_target_member(value)
            group.replay_target(member_id, target)

    def _replay_current(self, key: bytes, value: bytes | None) -> None:
        group_id, member_id = stored.read_member_key(key)
        group = self._replayed(group_id, value)
        if group is not None:
            current = None if value is None else stored.read_current_assignment(value)
            group.replay_current(member_id, current)

    def _replay_pattern(self, key: bytes, value: bytes | None) -> None:
        group_id, pattern = stored.read_member_key(key)
        group = self._replayed(group_id, value)
        if group is not None:
            resolved = None if value is None else stored.read_pattern(value)
            group.replay_pattern(pattern, resolved)
