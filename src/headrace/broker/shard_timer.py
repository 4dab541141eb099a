"""The one timer of a coordinator shard: it runs the shard's deadlines when they are due."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from headrace.environment.ports import Background, Cancellable


class MillisecondClock(Protocol):
    def now_ms(self) -> int: ...


class TimedShard(Protocol):
    """A Shard, or what stands before it."""

    def next_deadline_ms(self) -> int | None: ...

    def tick(self, now_ms: int) -> None: ...


class ShardTimer:
    """``look`` must be called after everything that may bring a deadline closer."""

    __slots__ = ("_background", "_clock", "_due_ms", "_shard", "_timer")

    def __init__(self, shard: TimedShard, clock: MillisecondClock, background: Background) -> None:
        self._shard = shard
        self._clock = clock
        self._background = background
        self._timer: Cancellable | None = None
        self._due_ms = 0

    def look(self) -> None:
        """Have one timer running, never later than the next deadline; too early costs a look."""
        due_ms = self._shard.next_deadline_ms()
        if due_ms is None or (self._timer is not None and self._due_ms <= due_ms):
            return
        self.cancel()
        self._due_ms = due_ms
        delay_ms = max(due_ms - self._clock.now_ms(), 0)
        self._timer = self._background.call_later(delay_ms / 1000, self._tick)

    def cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _tick(self) -> None:
        self._timer = None
        self._shard.tick(self._clock.now_ms())
        self.look()
