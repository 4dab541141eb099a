"""What is looked at every few seconds of the long run."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.process.resources import cpu_seconds, open_descriptors, resident_megabytes

if TYPE_CHECKING:
    from .percentiles import LatencyWindow

MEGABYTE = 1_000_000


@dataclass(frozen=True)
class Sample:
    """One look. Rates and latencies (the probe's) are of the time since the look before."""

    at_seconds: float
    produced_per_second: float
    consumed_per_second: float
    produce_p50_ms: float
    produce_p99_ms: float
    end_to_end_p50_ms: float
    end_to_end_p99_ms: float
    resident_megabytes: float
    descriptors: int
    threads: int
    disk_megabytes: float
    cpu_percent: float
    partitions: int
    groups: int
    checker_megabytes: float


class Sampler:
    """Turns counters into rates."""

    def __init__(
        self, pid: int, directory: Path, acknowledged: LatencyWindow, read: LatencyWindow
    ) -> None:
        self._pid = pid
        self._directory = directory
        self._acknowledged = acknowledged
        self._read = read
        self._started_s = self._last_s = time.monotonic()
        self._last_cpu_s = cpu_seconds(pid)
        self._last_counts = 0, 0

    def look(
        self, acknowledged_count: int, consumed_count: int, partitions: int, groups: int
    ) -> Sample:
        now_s = time.monotonic()
        passed_s = now_s - self._last_s
        cpu_s = cpu_seconds(self._pid)
        acknowledged, read = self._acknowledged.take(), self._read.take()
        sample = Sample(
            at_seconds=now_s - self._started_s,
            produced_per_second=(acknowledged_count - self._last_counts[0]) / passed_s,
            consumed_per_second=(consumed_count - self._last_counts[1]) / passed_s,
            produce_p50_ms=acknowledged.p50_ms,
            produce_p99_ms=acknowledged.p99_ms,
            end_to_end_p50_ms=read.p50_ms,
            end_to_end_p99_ms=read.p99_ms,
            resident_megabytes=resident_megabytes(self._pid),
            descriptors=open_descriptors(self._pid),
            threads=len(os.listdir(f"/proc/{self._pid}/task")),
            disk_megabytes=disk_bytes(self._directory) / MEGABYTE,
            cpu_percent=100 * (cpu_s - self._last_cpu_s) / passed_s,
            partitions=partitions,
            groups=groups,
            checker_megabytes=resident_megabytes(os.getpid()),
        )
        self._last_s, self._last_cpu_s = now_s, cpu_s
        self._last_counts = acknowledged_count, consumed_count
        return sample


def disk_bytes(directory: Path) -> int:
    """As the files' blocks are counted: a preallocated or sparse file costs what it occupies."""
    total = 0
    for folder, _, names in os.walk(directory):
        for name in names:
            with suppress(FileNotFoundError):  # deleted between the two calls
                total += os.lstat(Path(folder) / name).st_blocks * 512
    return total
