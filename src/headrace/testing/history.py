"""The history of a run, judged: what clients sent, were told, read and committed.

Producers tell every send and its answer, consumers every record and commit, and somebody reads the
whole log now and then (``PartitionHistory.scan``). Everything is judged as it comes, in memory that
grows with the number of batches in the logs, not with the records that ever were. What the topic's
beginning loses by retention is forgotten; a deleted topic is forgotten whole (``forget``).

The records carry their identity (``history_stamps``). Of a compacted topic a key must be written
by one producer only.
"""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headrace.testing.history_faults import Fault, Violation, Violations
from headrace.testing.history_groups import GroupHistory
from headrace.testing.history_partition import PartitionHistory
from headrace.testing.history_stamps import Stamp, stamp_of, stamped

if TYPE_CHECKING:
    from headrace.testing.history_lane import Lane

__all__ = ["Fault", "History", "Report", "Stamp", "Violation", "stamp_of", "stamped"]

COUNTS = (
    "records sent",
    "records acknowledged",
    "records with unknown outcome",
    "records refused",
    "records read by consumers",
    "records read in scans of the log",
    "keys checked in compacted logs",
    "ends of logs checked",
    "commits acknowledged",
    "commits checked",
    "metadata checked",
)


class HistoryViolated(AssertionError):
    """The run broke a promise."""


@dataclass(frozen=True)
class Report:
    """How much was checked, and what was wrong."""

    counts: dict[str, int]
    violations: dict[Fault, int] = field(default_factory=dict)
    examples: tuple[Violation, ...] = ()

    @property
    def is_clean(self) -> bool:
        return not self.violations

    def raise_if_violated(self) -> None:
        if self.violations:
            raise HistoryViolated("\n".join(map(str, self.examples)))


class History:
    """One run over one broker, however often that is restarted."""

    def __init__(self) -> None:
        self.violations = Violations()
        self.groups: dict[str, GroupHistory] = {}
        self.partitions: dict[tuple[str, int], PartitionHistory] = {}
        self.metadata_checked = 0
        self._lane_count = 0
        self._forgotten: Counter[str] = Counter()
        self._lock = threading.Lock()

    def topic(self, name: str, partitions: int, *, is_compacted: bool = False) -> None:
        """To be called before anything else about the topic; again when it has grown."""
        with self._lock:
            for partition in range(partitions):
                if (name, partition) not in self.partitions:
                    self.partitions[name, partition] = PartitionHistory(
                        name, partition, self.violations, is_compacted=is_compacted
                    )

    def partition(self, topic: str, partition: int) -> PartitionHistory:
        return self.partitions[topic, partition]

    def lane(
        self, producer: str, topic: str, partition: int, *, is_idempotent: bool = True
    ) -> Lane:
        """A new series of numbers of this producer in this partition."""
        with self._lock:
            lane_id = self._lane_count
            self._lane_count += 1
        return self.partition(topic, partition).add_lane(
            lane_id, producer, is_idempotent=is_idempotent
        )

    def group(self, name: str) -> GroupHistory:
        with self._lock:
            if name not in self.groups:
                self.groups[name] = GroupHistory(name, self.violations)
            return self.groups[name]

    def forget(self, topic: str) -> None:
        """The topic was deleted on purpose; what was counted of it stays counted."""
        with self._lock:
            gone = [known for known in self.partitions if known[0] == topic]
            for known in gone:
                partition = self.partitions.pop(known)
                self._forgotten += partition_counts(partition)
                for group in self.groups.values():
                    group.forget(partition)

    def forget_group(self, name: str) -> None:
        with self._lock:
            self._forgotten += group_counts(self.groups.pop(name))

    def report(self) -> Report:
        with self._lock:
            counts = Counter(self._forgotten)
            for partition in self.partitions.values():
                counts += partition_counts(partition)
            for group in self.groups.values():
                counts += group_counts(group)
            counts["metadata checked"] += self.metadata_checked
            return Report(
                {name: counts[name] for name in COUNTS},
                dict(self.violations.counts),
                tuple(self.violations.examples),
            )


def partition_counts(partition: PartitionHistory) -> Counter[str]:
    lanes = list(partition.lanes.values())  # one may come while others are counted
    return Counter(
        {
            "records sent": sum(lane.sent for lane in lanes),
            "records acknowledged": sum(lane.acknowledged_count for lane in lanes),
            "records with unknown outcome": sum(lane.unknown_count for lane in lanes),
            "records refused": sum(len(lane.refused) for lane in lanes),
            "records read by consumers": partition.read_records,
            "records read in scans of the log": partition.scanned_records,
            "keys checked in compacted logs": partition.scanned_keys,
            "ends of logs checked": partition.observations,
        }
    )


def group_counts(group: GroupHistory) -> Counter[str]:
    return Counter(
        {
            "commits acknowledged": group.commits_acknowledged,
            "commits checked": group.commits_checked,
        }
    )
