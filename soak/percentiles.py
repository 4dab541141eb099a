"""Latencies of the last few seconds: collected in one thread, taken in another."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

SAMPLES_MAX = 50_000
"""Between two looks."""


class Percentiles(NamedTuple):
    """In milliseconds."""

    p50_ms: float
    p99_ms: float


class LatencyWindow:
    """``append`` of a bounded deque is atomic: it needs no lock."""

    def __init__(self) -> None:
        self._seconds: deque[float] = deque(maxlen=SAMPLES_MAX)

    def add(self, seconds: float) -> None:
        self._seconds.append(seconds)

    def take(self) -> Percentiles:
        """Of what has come since the last call."""
        taken, self._seconds = self._seconds, deque(maxlen=SAMPLES_MAX)
        ordered = sorted(taken)
        return Percentiles(1000 * at(ordered, 0.50), 1000 * at(ordered, 0.99))


def at(ordered: list[float], part: float) -> float:
    """The value below which this part lies; 0 of nothing."""
    return ordered[min(int(part * len(ordered)), len(ordered) - 1)] if ordered else 0.0
