"""The waiting room: fetches that are parked until a log has grown enough, or a deadline comes.

Waiting costs nothing: a log with nobody waiting has no listener, and a log with a thousand waiters
does one subtraction for each when it grows. Those that have enough are called in the next turn of
the loop, after the producer's own answer has been sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from headrace.environment.ports import Background, Cancellable
    from headrace.storage.log_port import Log


class Waiter:
    """One parked fetch."""

    __slots__ = ("_on_ready", "_rooms", "has_seen_change", "is_done", "missing_bytes", "timer")

    def __init__(self, missing_bytes: int, on_ready: Callable[[], None]) -> None:
        self.missing_bytes = missing_bytes
        self.has_seen_change = False
        self._on_ready: Callable[[], None] | None = on_ready
        self.timer: Cancellable | None = None
        self.is_done = False
        self._rooms: list[_LogRoom] = []

    def call(self) -> None:
        """Once. The callback is let go of: it refers to us, and nothing should wait for the
        collector, however many come and go."""
        on_ready, self._on_ready = self._on_ready, None
        if on_ready is not None:
            on_ready()

    def forget(self) -> None:
        """Nobody wants to be called any more."""
        self._on_ready = None


class _LogRoom:
    """Those who wait for one log. It is the log's listener while anybody does."""

    __slots__ = ("_ready", "appended_bytes", "log", "waiters")

    def __init__(self, log: Log, ready: Callable[[Waiter], None]) -> None:
        self.log = log
        self.appended_bytes = log.appended_bytes
        self.waiters: dict[Waiter, None] = {}
        self._ready = ready

    def __call__(self, log: Log) -> None:
        appended_bytes = log.appended_bytes
        grown = appended_bytes - self.appended_bytes
        self.appended_bytes = appended_bytes
        for waiter in list(self.waiters):
            waiter.missing_bytes -= grown
            waiter.has_seen_change = True
            # A log that did not grow was cut, deleted, or let go of a transaction: have a look.
            if waiter.missing_bytes <= 0 or grown <= 0:
                self._ready(waiter)


class WaitingRoom:
    """All parked fetches of this broker."""

    def __init__(self, background: Background) -> None:
        self._background = background
        self._rooms: dict[Log, _LogRoom] = {}
        self._ready: list[Waiter] = []
        self.parked = 0

    def park(
        self,
        logs: Iterable[Log],
        missing_bytes: int,
        wait_ms: int,
        on_ready: Callable[[], None],
    ) -> Waiter:
        """Call ``on_ready`` once: when the logs grew by ``missing_bytes`` or the time is over."""
        waiter = Waiter(missing_bytes, on_ready)
        for log in logs:
            room = self._rooms.get(log)
            if room is None:
                room = self._rooms[log] = _LogRoom(log, self._mark_ready)
                log.listener = room
            room.waiters[waiter] = None
            waiter._rooms.append(room)
        waiter.timer = self._background.call_later(wait_ms / 1000, lambda: self._expire(waiter))
        self.parked += 1
        return waiter

    def leave(self, waiter: Waiter) -> None:
        """Forget a waiter; it is not called any more."""
        waiter.forget()
        self._stand_up(waiter)

    def _stand_up(self, waiter: Waiter) -> None:
        if waiter.is_done:
            return
        waiter.is_done = True
        self.parked -= 1
        if waiter.timer is not None:
            waiter.timer.cancel()
            waiter.timer = None
        for room in waiter._rooms:
            room.waiters.pop(waiter, None)
            if not room.waiters:
                room.log.listener = None
                self._rooms.pop(room.log, None)
        waiter._rooms.clear()

    def _mark_ready(self, waiter: Waiter) -> None:
        self._stand_up(waiter)
        if not self._ready:
            self._background.call_later(0, self._call_ready)
        self._ready.append(waiter)

    def _call_ready(self) -> None:
        ready, self._ready = self._ready, []
        for waiter in ready:
            waiter.call()

    def _expire(self, waiter: Waiter) -> None:
        if not waiter.is_done:
            self._stand_up(waiter)
            waiter.call()
