"""Offsets of open transactions, by group and partition. Changed only by replaying the log.

Of all commits of one offset, plain or in a transaction, the one whose *record* stands last in the
log counts, whenever its marker came: compaction keeps the last record of a key, and what a restart
finds must not depend on whether compaction came by. So a commit takes the chance from all that
was written before it and is still open: it is overtaken. It counts for nothing any more, but its
partition stays unstable until its transaction ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headrace.coordination.groups.records import CommittedOffset
    from headrace.model.topic import TopicPartition


class EndedOffset(NamedTuple):
    """An offset that a transaction has committed."""

    group_id: str
    partition: TopicPartition
    committed: CommittedOffset


class PendingOffsets:
    """The transactions that are open in one shard."""

    __slots__ = ("_by_group", "_by_producer")

    def __init__(self) -> None:
        self._by_group: dict[str, dict[TopicPartition, dict[int, CommittedOffset | None]]] = {}
        """Last by producer id, in the order of the records. None: overtaken."""
        self._by_producer: dict[int, dict[tuple[str, TopicPartition], None]] = {}

    # --- questions ------------------------------------------------------------------------------

    def __bool__(self) -> bool:
        return bool(self._by_group)

    def group_ids(self) -> list[str]:
        return list(self._by_group)

    def has_group(self, group_id: str) -> bool:
        return group_id in self._by_group

    def partitions_of(self, group_id: str) -> Iterable[TopicPartition]:
        """Those with an open transaction. Must not be kept: it changes."""
        return self._by_group.get(group_id, {}).keys()

    def has(self, group_id: str, partition: TopicPartition) -> bool:
        return partition in self._by_group.get(group_id, ())

    def snapshot(
        self,
    ) -> dict[tuple[str, TopicPartition], list[tuple[int, CommittedOffset | None]]]:
        """All of it, for comparison: what each producer has written, in the order of the log."""
        return {
            (group_id, partition): list(waiting.items())
            for group_id, partitions in self._by_group.items()
            for partition, waiting in partitions.items()
        }

    # --- replay ---------------------------------------------------------------------------------

    def put(
        self, producer_id: int, group_id: str, partition: TopicPartition, offset: CommittedOffset
    ) -> None:
        waiting = self._by_group.setdefault(group_id, {}).setdefault(partition, {})
        waiting.pop(producer_id, None)  # its last record decides, also about its place
        waiting[producer_id] = offset
        self._by_producer.setdefault(producer_id, {})[group_id, partition] = None

    def overtake(self, group_id: str, partition: TopicPartition) -> None:
        """An offset was committed without a transaction, after all that is pending here."""
        waiting = self._by_group.get(group_id, {}).get(partition, {})
        for producer_id in waiting:
            waiting[producer_id] = None

    def forget(self, group_id: str, partition: TopicPartition) -> None:
        """The offset was deleted: its transactions may end as they like."""
        waiting = self._by_group.get(group_id, {}).get(partition, {})
        for producer_id in list(waiting):
            self._remove(producer_id, group_id, partition)

    def commit(self, producer_id: int) -> list[EndedOffset]:
        """Take out the offsets of this producer: those that count from now on."""
        ended = []
        for group_id, partition in self._by_producer.get(producer_id, ()):
            waiting = self._by_group[group_id][partition]
            offset = waiting[producer_id]
            if offset is None:
                continue
            for earlier_id in waiting:
                if earlier_id == producer_id:
                    break
                waiting[earlier_id] = None
            ended.append(EndedOffset(group_id, partition, offset))
        self.abort(producer_id)
        return ended

    def abort(self, producer_id: int) -> None:
        for group_id, partition in list(self._by_producer.get(producer_id, ())):
            self._remove(producer_id, group_id, partition)

    def _remove(self, producer_id: int, group_id: str, partition: TopicPartition) -> None:
        partitions = self._by_group[group_id]
        del partitions[partition][producer_id]
        if not partitions[partition]:
            del partitions[partition]
        if not partitions:
            del self._by_group[group_id]
        written = self._by_producer[producer_id]
        del written[group_id, partition]
        if not written:
            del self._by_producer[producer_id]
