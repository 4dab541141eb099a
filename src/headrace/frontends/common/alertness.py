"""Whether to stay awake for the next request: only if the last ones came soon after an answer.

To fall asleep and be woken costs a lone request more than its handling. A client that sends, waits
and sends again is back within some ten microseconds; there it pays to look again and again for a
moment. For anybody else it would be a waste, so what was seen decides. No clock in here.
"""

from __future__ import annotations

EXPECTED_SHARE_MAX = 0.5
"""Of the limit: it is worth it only if the next request is expected well before."""

MEMORY_GAPS = 8
"""The expectation moves by one part in so many with each gap that was seen: one client that was
held up for a moment does not change it much."""


class Alertness:
    """The expected time between going idle and the next request."""

    __slots__ = ("_expected_s", "_idle_since", "_is_idle", "_limit_s")

    def __init__(self, limit_seconds: float) -> None:
        """Who stays awake does so for ``limit_seconds`` at most; 0 is never."""
        self._limit_s = limit_seconds
        self._expected_s = limit_seconds
        self._idle_since = 0.0
        self._is_idle = False

    def idle_from(self, now: float) -> None:
        """All that had come is answered."""
        self._idle_since = now
        self._is_idle = True

    def requests_came(self, now: float) -> None:
        """Something is to be done again."""
        if self._is_idle:
            self._is_idle = False
            gap = min(now - self._idle_since, self._limit_s)
            self._expected_s += (gap - self._expected_s) / MEMORY_GAPS

    @property
    def is_worth_it(self) -> bool:
        """Whether the next request is expected soon."""
        return self._expected_s < self._limit_s * EXPECTED_SHARE_MAX

    def stays_awake(self, now: float) -> bool:
        """Whether it is too early to give up; asked again and again."""
        return now - self._idle_since < self._limit_s and self.is_worth_it
