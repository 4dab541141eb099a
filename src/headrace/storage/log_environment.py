"""What every log of a node shares: the disk with its descriptors, the clock, and settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.environment.ports import Background, Clock, Disk
    from headrace.metrics.registry import StorageCounters
    from headrace.storage.log import SegmentedLog
    from headrace.storage.open_files import OpenFiles
    from headrace.storage.timed_sync import TimedSync


@dataclass(frozen=True, slots=True)
class LogEnvironment:
    """Handed to each log when it is made."""

    files: OpenFiles
    clock: Clock
    background: Background
    decompressed_bytes_max: int
    producer_expiration_ms: int
    log_start_moved: Callable[[], None]
    """Tells the manager to write down a new log start, so that it never goes back."""
    truncating: Callable[[SegmentedLog, int], None]
    """Tells the manager that a log is about to be cut, before it is."""
    sync_journal: Callable[[], None]
    """Syncs the write-ahead log; may be called in a thread."""
    counters: StorageCounters
    sync_file: TimedSync
    """For the files of segments."""

    @property
    def disk(self) -> Disk:
        return self.files.disk
