"""A clock that moves only when told."""

from __future__ import annotations

START_MS = 1_700_000_000_000


class SimulatedClock:
    """Wall clock and steady clock advance together; the wall clock can also jump.

    Kept in whole microseconds, so that many small steps add up exactly.
    """

    def __init__(self, now_ms: int = START_MS) -> None:
        self._wall_us = now_ms * 1000
        self._steady_us = 0

    def now_ms(self) -> int:
        return self._wall_us // 1000

    def monotonic(self) -> float:
        return self._steady_us / 1_000_000

    def advance(self, seconds: float) -> None:
        assert seconds >= 0, "time does not run backwards; use jump_to for the wall clock"
        step_us = round(seconds * 1_000_000)
        self._steady_us += step_us
        self._wall_us += step_us

    def advance_ms(self, milliseconds: int) -> None:
        self.advance(milliseconds / 1000)

    def jump_to(self, now_ms: int) -> None:
        """Set the wall clock, as an operator or NTP does; the steady clock does not notice."""
        self._wall_us = now_ms * 1000
