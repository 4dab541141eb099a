"""What recovery did, for a person: one line in all, and lines for each log that needed work."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.model.topic import TopicPartition


@dataclass
class LogRecovery:
    """What was done to one log."""

    partition: TopicPartition
    scanned_bytes: int = 0
    cut_bytes: int = 0
    actions: list[str] = field(default_factory=list)

    def note(self, action: str) -> None:
        self.actions.append(action)


@dataclass
class RecoveryReport:
    """``is_clean``: the last stop was clean and no log was scanned."""

    is_clean: bool = True
    log_count: int = 0
    frames_redone: int = 0
    notes: list[str] = field(default_factory=list)
    details: list[LogRecovery] = field(default_factory=list)

    def add(self, recovery: LogRecovery) -> None:
        self.is_clean = False
        self.details.append(recovery)

    def __str__(self) -> str:
        """One line."""
        if not self.log_count and not self.notes:
            return "opened a directory without logs"
        if self.is_clean and not self.notes:
            return f"opened {self.log_count} logs after a clean stop"
        scanned = sum(recovery.scanned_bytes for recovery in self.details)
        cut = sum(recovery.cut_bytes for recovery in self.details)
        mended = sum(1 for recovery in self.details if recovery.actions)
        return (
            f"recovered {self.log_count} logs: scanned {scanned} bytes, cut {cut} bytes,"
            f" mended {mended} logs, redid {self.frames_redone} appends of the write-ahead log"
        )

    def lines(self) -> list[str]:
        """One line per thing that was done."""
        return self.notes + [
            f"{recovery.partition}: {action}"
            for recovery in self.details
            for action in recovery.actions
        ]
