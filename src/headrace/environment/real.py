"""The machine we really run on: its clock, its disk, its randomness, its threads.

The one place, with ``real_disk``, where the process reads time or draws random numbers. Everything
above takes the ports as arguments and can be run against the simulated twins instead.
"""

from __future__ import annotations

import random
import secrets
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

from headrace.environment.real_disk import RealDisk
from headrace.model.errors import LimitReached

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

__all__ = ["LoopBackground", "RealChance", "RealClock", "RealDisk"]

THREADS_DEFAULT = 4
PENDING_WORK_MAX = 100_000
"""Work handed to the threads and not finished. Reached only when the disk has stopped answering."""


class RealClock:
    """The wall clock and the steady clock of this machine."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        return time.monotonic()


class RealChance:
    """Randomness nobody can predict."""

    def random_bytes(self, count: int) -> bytes:
        return secrets.token_bytes(count)

    def random_float(self) -> float:
        return random.random()


class LoopBackground:
    """A few threads beside one event loop. ``close`` waits for all work that has begun."""

    def __init__(self, loop: asyncio.AbstractEventLoop, *, threads: int = THREADS_DEFAULT) -> None:
        self._loop = loop
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="headrace-background")
        self.pending = 0

    def submit(
        self, work: Callable[[], object], done: Callable[[BaseException | None], None]
    ) -> None:
        if self.pending >= PENDING_WORK_MAX:
            raise LimitReached(f"{self.pending} pieces of background work are unfinished")
        self.pending += 1
        future = self._threads.submit(work)
        future.add_done_callback(lambda finished: self._hand_over(finished, done))

    def call_later(self, delay_seconds: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
        return self._loop.call_later(delay_seconds, callback)

    def close(self) -> None:
        """Finish what was submitted. Callbacks still run if the loop runs on."""
        self._threads.shutdown(wait=True)

    def _hand_over(
        self, finished: Future[object], done: Callable[[BaseException | None], None]
    ) -> None:
        """In the worker's thread: only pass the result on to the loop's thread."""
        error = finished.exception()
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._finish, done, error)

    def _finish(
        self, done: Callable[[BaseException | None], None], error: BaseException | None
    ) -> None:
        self.pending -= 1
        done(error)
