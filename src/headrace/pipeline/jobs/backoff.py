"""How long to wait before the next try: twice as long each time, up to a limit."""

from __future__ import annotations

FIRST_SECONDS = 1.0
SECONDS_MAX = 60.0
STEADY_SECONDS = 60.0
"""Whoever ran this long without a fault begins again with the first wait."""


class Backoff:
    """One thing that fails now and then. Pure: it is told how long the last run lasted."""

    def __init__(
        self, first_seconds: float = FIRST_SECONDS, seconds_max: float = SECONDS_MAX
    ) -> None:
        self._first_seconds = first_seconds
        self._seconds_max = seconds_max
        self._next_seconds = first_seconds

    def after_run_of(self, seconds: float) -> float:
        """Seconds to wait now."""
        if seconds >= STEADY_SECONDS:
            self._next_seconds = self._first_seconds
        wait = self._next_seconds
        self._next_seconds = min(wait * 2, self._seconds_max)
        return wait
