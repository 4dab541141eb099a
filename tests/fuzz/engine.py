"""Run one target: the corpus first, then changed inputs until time or count is up.

What it reports: how many inputs, which failed (made as small as they get), the memory after the
first tenth and at the end, and the slowest input.
"""

from __future__ import annotations

import time
import traceback
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.fuzz.mutations import mutate
from tests.fuzz.target import INPUT_BYTES_MAX
from tests.process.resources import resident_megabytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from random import Random

    from tests.fuzz.target import Target

INPUT_SECONDS_MAX = 10.0
"""CPU time of one input; a tenth of it would be suspicious already."""
GROWTH_MEGABYTES_MAX = 100.0
SHRINK_STEPS_MAX = 40
FAILURES_MAX = 20
WARM_UP_INPUTS = 300
PROGRESS_SECONDS = 10.0


@dataclass
class Report:
    """What became of one target."""

    target: str
    inputs: int = 0
    failures: dict[str, bytes] = field(default_factory=dict)
    """Where it failed, and the smallest input that does it."""
    slowest_seconds: float = 0.0
    slowest_input: bytes = b""
    start_megabytes: float = 0.0
    end_megabytes: float = 0.0

    @property
    def is_good(self) -> bool:
        growth = self.end_megabytes - self.start_megabytes
        return (
            not self.failures
            and self.slowest_seconds < INPUT_SECONDS_MAX
            and growth < GROWTH_MEGABYTES_MAX
        )

    def line(self) -> str:
        return (
            f"{self.target:18} {self.inputs:9,} inputs  {len(self.failures)} failures  "
            f"memory {self.start_megabytes:.0f} to {self.end_megabytes:.0f} MB  "
            f"slowest {self.slowest_seconds * 1000:.0f} ms ({len(self.slowest_input)} bytes)"
        )


class Engine:
    """Feeds a target in the process ``pid``, whose memory is watched."""

    def __init__(self, target: Target, pid: int) -> None:
        self._target = target
        self._pid = pid
        self.report = Report(target.name)

    def replay(self, inputs: Iterable[bytes]) -> None:
        for data in inputs:
            self._run(data)

    def explore(
        self,
        seeds: Sequence[bytes],
        chance: Random,
        goes_on: Callable[[int], bool],
        progress: Callable[[Report], None] = lambda report: None,
    ) -> None:
        """Changed inputs as long as ``goes_on(number of inputs)`` says so."""
        said = time.monotonic()
        number = 0
        while goes_on(number) and len(self.report.failures) < FAILURES_MAX:
            self._run(mutate(chance, chance.choice(seeds), seeds)[:INPUT_BYTES_MAX])
            number += 1
            if number == WARM_UP_INPUTS:
                self.report.start_megabytes = resident_megabytes(self._pid)
            if time.monotonic() - said > PROGRESS_SECONDS:
                said = time.monotonic()
                self.report.end_megabytes = resident_megabytes(self._pid)
                progress(self.report)
        self.report.end_megabytes = resident_megabytes(self._pid)
        self.report.start_megabytes = self.report.start_megabytes or self.report.end_megabytes

    def _run(self, data: bytes) -> None:
        self.report.inputs += 1
        started = time.thread_time()
        where = self._failure(data)
        seconds = time.thread_time() - started
        if seconds > self.report.slowest_seconds:
            self.report.slowest_seconds, self.report.slowest_input = seconds, data
        if where is not None and where not in self.report.failures:
            self.report.failures[where] = self._shrunk(data, where)

    def _failure(self, data: bytes) -> str | None:
        """Where the target failed with this input, or None."""
        try:
            self._target.run(data)
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)[-3:]
            places = " > ".join(f"{f.filename.rpartition('/')[2]}:{f.name}" for f in frames)
            return f"{type(error).__name__} at {places}: {str(error)[:300]}"
        return None

    def _shrunk(self, data: bytes, where: str) -> bytes:
        """A smaller input that fails at the same place."""
        place = where.partition(":")[0]
        size = len(data) // 2
        for _ in range(SHRINK_STEPS_MAX):
            if not size:
                break
            for start in range(1, len(data), size):
                shorter = data[:start] + data[start + size :]
                failure = self._failure(shorter)
                if failure is not None and failure.partition(":")[0] == place:
                    data = shorter
                    break
            else:
                size //= 2
        return data
