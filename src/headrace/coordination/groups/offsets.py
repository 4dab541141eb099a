"""Committed offsets by group and partition. Changed only by replaying the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.coordination.groups.pending_offsets import PendingOffsets
from headrace.coordination.groups.record_codecs import read_offset, read_offset_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.coordination.groups.records import CommittedOffset
    from headrace.model.topic import TopicPartition

_NONE: Mapping[TopicPartition, CommittedOffset] = {}


class Offsets:
    """What every group of the shard has committed, whatever its kind.

    Offsets of a transaction wait in ``pending`` until its marker moves them here, or drops them.
    """

    __slots__ = ("_by_group", "pending")

    def __init__(self) -> None:
        self.pending = PendingOffsets()
        self._by_group: dict[str, dict[TopicPartition, CommittedOffset]] = {}

    def of_group(self, group_id: str) -> Mapping[TopicPartition, CommittedOffset]:
        """Must not be kept: it changes, and goes when the last offset goes."""
        return self._by_group.get(group_id, _NONE)

    def group_ids(self) -> list[str]:
        """Those with a committed offset."""
        return list(self._by_group)

    def all_group_ids(self) -> list[str]:
        """Those with an offset, committed or pending."""
        return list(dict.fromkeys([*self._by_group, *self.pending.group_ids()]))

    def partitions_of(self, group_id: str) -> list[TopicPartition]:
        """Those with an offset, committed or pending."""
        partitions = dict.fromkeys(self.of_group(group_id))
        partitions.update(dict.fromkeys(self.pending.partitions_of(group_id)))
        return list(partitions)

    def replay(self, key: bytes, value: bytes | None) -> str | None:
        """Apply an offset record; return the id of the group unless it was a tombstone."""
        group_id, partition = read_offset_key(key)
        if value is None:
            self._forget(group_id, partition)
            return None
        self._put(group_id, partition, read_offset(value))
        if self.pending:
            self.pending.overtake(group_id, partition)
        return group_id

    def replay_pending(self, producer_id: int, key: bytes, value: bytes) -> str:
        """Apply an offset record of a transaction; return the id of the group."""
        group_id, partition = read_offset_key(key)
        self.pending.put(producer_id, group_id, partition, read_offset(value))
        return group_id

    def end_transaction(self, producer_id: int, is_commit: bool) -> None:
        """Apply a marker. Of a producer that has nothing pending it means nothing."""
        if not is_commit:
            self.pending.abort(producer_id)
            return
        for group_id, partition, committed in self.pending.commit(producer_id):
            self._put(group_id, partition, committed)

    def _put(self, group_id: str, partition: TopicPartition, committed: CommittedOffset) -> None:
        offsets = self._by_group.get(group_id)
        if offsets is None:
            offsets = self._by_group[group_id] = {}
        offsets[partition] = committed

    def _forget(self, group_id: str, partition: TopicPartition) -> None:
        self.pending.forget(group_id, partition)
        offsets = self._by_group.get(group_id)
        if offsets is None:
            return
        offsets.pop(partition, None)
        if not offsets:
            del self._by_group[group_id]
