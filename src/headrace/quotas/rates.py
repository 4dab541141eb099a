"""How fast somebody is, over the last seconds, and how long it must wait to be as fast as allowed.

As Kafka measures it: amounts fall into windows of a second; the rate is what fell into the last
eleven of them, over the time since the oldest began. Windows that nobody filled count as time with
nothing in it, so the first amount of a new client is no infinite rate. Whoever is above its quota
waits until the same amount, spread over the longer time, is within it.
"""

from __future__ import annotations

from collections import deque

WINDOW_COUNT_DEFAULT = 11
WINDOW_MS_DEFAULT = 1_000


class _Window:
    """What fell into one stretch of time."""

    __slots__ = ("amount", "began_ms", "last_ms")

    def __init__(self, began_ms: int) -> None:
        self.began_ms = began_ms
        self.last_ms = began_ms
        self.amount = 0.0


class Rate:
    """The amounts of one account; at most one window more than are measured."""

    __slots__ = ("_total", "_window_count", "_window_ms", "_windows")

    def __init__(
        self, window_count: int = WINDOW_COUNT_DEFAULT, window_ms: int = WINDOW_MS_DEFAULT
    ) -> None:
        self._window_count = window_count
        self._window_ms = window_ms
        self._windows: deque[_Window] = deque()
        """Oldest first."""
        self._total = 0.0

    def record(self, amount: float, now_ms: int) -> None:
        """A negative amount takes back what was recorded at the same moment."""
        self._forget(now_ms)
        if not self._windows or now_ms - self._windows[-1].began_ms >= self._window_ms:
            self._windows.append(_Window(now_ms))
        window = self._windows[-1]
        window.amount += amount
        window.last_ms = now_ms
        self._total += amount

    def total(self, now_ms: int) -> float:
        """All that counts now."""
        self._forget(now_ms)
        return self._total

    def per_second(self, now_ms: int) -> float:
        self._forget(now_ms)
        return self._total / self._span_ms(now_ms) * 1000

    def throttle_ms(self, limit: float, now_ms: int) -> int:
        """How long to wait so that the rate comes down to ``limit`` per second."""
        rate = self.per_second(now_ms)
        if rate <= limit:
            return 0
        return round((rate - limit) / limit * self._span_ms(now_ms))

    def is_idle(self, now_ms: int) -> bool:
        """Nothing is remembered: it may be forgotten altogether."""
        self._forget(now_ms)
        return not self._windows

    def _span_ms(self, now_ms: int) -> int:
        elapsed_ms = now_ms - self._windows[0].began_ms if self._windows else 0
        missing = self._window_count - 1 - elapsed_ms // self._window_ms
        return max(1, elapsed_ms + max(0, missing) * self._window_ms)

    def _forget(self, now_ms: int) -> None:
        oldest_ms = now_ms - self._window_count * self._window_ms
        while self._windows and self._windows[0].last_ms <= oldest_ms:
            self._total -= self._windows.popleft().amount
        if not self._windows:
            self._total = 0.0
