"""Tokens that come back at a steady rate; for work that arrives in bursts, such as creating topics.

A bucket begins full. Whoever finds it at zero or above may take as much as it likes, even below
zero, and the next one has to wait until the debt is paid. So a single large burst costs only the
time it is worth, which a rate over windows would not give.
"""

from __future__ import annotations

from headrace.quotas.rates import WINDOW_COUNT_DEFAULT, WINDOW_MS_DEFAULT


class TokenBucket:
    """The tokens of one account; its size is what comes back in all windows together."""

    __slots__ = ("_filled_ms", "_limit", "_span_seconds", "_tokens")

    def __init__(
        self, window_count: int = WINDOW_COUNT_DEFAULT, window_ms: int = WINDOW_MS_DEFAULT
    ) -> None:
        self._span_seconds = window_count * window_ms / 1000
        self._tokens: float | None = None
        """None: full, whatever the limit is."""
        self._filled_ms = 0
        self._limit = 0.0

    def take(self, amount: float, limit: float, now_ms: int) -> None:
        """The caller has asked ``throttle_ms`` before, or lets everybody through."""
        self._tokens = self._fill(limit, now_ms) - amount

    def throttle_ms(self, limit: float, now_ms: int) -> int:
        """How long until the debt is paid; 0 if there is none."""
        tokens = self._fill(limit, now_ms)
        return 0 if tokens >= 0 else max(1, round(-tokens / limit * 1000))

    def is_idle(self, now_ms: int) -> bool:
        """It is full again: it may be forgotten altogether."""
        return self._tokens is None or self._fill(self._limit, now_ms) >= self._size(self._limit)

    def _size(self, limit: float) -> float:
        return self._span_seconds * limit

    def _fill(self, limit: float, now_ms: int) -> float:
        size = self._size(limit)
        if self._tokens is None:
            self._tokens = size
        else:
            came_back = limit * (now_ms - self._filled_ms) / 1000
            self._tokens = min(size, self._tokens + came_back)
        self._filled_ms = now_ms
        self._limit = limit
        return self._tokens
