"""What the groups committed: what they tried, what was acknowledged, and what the broker says."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from headrace.testing.history_faults import Fault

if TYPE_CHECKING:
    from headrace.testing.history_faults import Violations
    from headrace.testing.history_partition import PartitionHistory


class GroupHistory:
    """One group. Its members commit their positions, which only go on."""

    def __init__(self, name: str, violations: Violations) -> None:
        self.name = name
        self.commits_acknowledged = 0
        self.commits_checked = 0
        self._violations = violations
        self._lock = threading.Lock()
        self._attempted: dict[PartitionHistory, int] = {}
        self._acknowledged: dict[PartitionHistory, int] = {}

    def attempt(self, partition: PartitionHistory, offset: int) -> None:
        """To be called before the commit can reach the broker."""
        with self._lock:
            self._attempted[partition] = max(offset, self._attempted.get(partition, 0))

    def acknowledge(self, partition: PartitionHistory, offset: int) -> None:
        with self._lock:
            self.commits_acknowledged += 1
            self._acknowledged[partition] = max(offset, self._acknowledged.get(partition, 0))

    def attempted_offset(self, partition: PartitionHistory) -> int:
        return self._attempted.get(partition, 0)

    def acknowledged_offset(self, partition: PartitionHistory) -> int | None:
        return self._acknowledged.get(partition)

    def promises(self) -> dict[PartitionHistory, int]:
        """What was acknowledged so far; to be asked before the broker is."""
        with self._lock:
            return dict(self._acknowledged)

    def observe(
        self,
        promised: dict[PartitionHistory, int],
        answered: dict[PartitionHistory, int],
    ) -> None:
        """What the broker answered, after ``promised`` was noted; no entry: no commit."""
        for partition, offset in promised.items():
            self.commits_checked += 1
            found = answered.get(partition, -1)
            if found < offset:
                self._violation(Fault.COMMIT_WENT_BACK, partition, found, offset)
        for partition, found in answered.items():
            attempted = self.attempted_offset(partition)
            if found > attempted:
                self._violation(Fault.COMMIT_NOBODY_MADE, partition, found, attempted)

    def forget(self, partition: PartitionHistory) -> None:
        with self._lock:
            self._attempted.pop(partition, None)
            self._acknowledged.pop(partition, None)

    def _violation(self, fault: Fault, partition: PartitionHistory, found: int, known: int) -> None:
        where = f"{self.name} {partition.where}"
        self._violations.add(fault, where, f"the broker says {found}, known is {known}")
