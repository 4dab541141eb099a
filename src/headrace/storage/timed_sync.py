"""An fsync that notes how long it took."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.environment.ports import Clock, DiskFile
    from headrace.metrics.registry import Histogram


class TimedSync:
    """Called with an open file, from any thread."""

    def __init__(self, clock: Clock, seconds: Histogram) -> None:
        self._clock = clock
        self._seconds = seconds
        self._lock = Lock()

    def __call__(self, file: DiskFile) -> None:
        started = self._clock.monotonic()
        file.sync()
        elapsed = self._clock.monotonic() - started
        # Several threads sync at a time, and counting is not one step.
        with self._lock:
            self._seconds.observe(elapsed)
