"""Committed offsets by group and partition. Changed only by replaying offset records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.coordination.groups.record_codecs import read_offset, read_offset_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.coordination.groups.records import CommittedOffset
    from headrace.model.topic import TopicPartition

_NONE: Mapping[TopicPartition, CommittedOffset] = {}


class Offsets:
    """What every group of the shard has committed, whatever its kind.

    Offsets of a transaction become visible when it commits (KIP-98): they will be replayed into a
    second table, by producer id, and moved here by the transaction's marker.
    """

    __slots__ = ("_by_group",)

    def __init__(self) -> None:
        self._by_group: dict[str, dict[TopicPartition, CommittedOffset]] = {}

    def of_group(self, group_id: str) -> Mapping[TopicPartition, CommittedOffset]:
        """Must not be kept: it changes, and goes when the last offset goes."""
        return self._by_group.get(group_id, _NONE)

    def group_ids(self) -> list[str]:
        return list(self._by_group)

    def replay(self, key: bytes, value: bytes | None) -> str | None:
        """Apply an offset record; return the id of the group unless it was a tombstone."""
        group_id, partition = read_offset_key(key)
        if value is None:
            self._forget(group_id, partition)
            return None
        committed = read_offset(value)
        offsets = self._by_group.get(group_id)
        if offsets is None:
            offsets = self._by_group[group_id] = {}
        offsets[partition] = committed
        return group_id

    def _forget(self, group_id: str, partition: TopicPartition) -> None:
        offsets = self._by_group.get(group_id)
        if offsets is None:
            return
        offsets.pop(partition, None)
        if not offsets:
            del self._by_group[group_id]
