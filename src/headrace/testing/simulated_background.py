"""Background work without threads: it runs when the test says so, in the order it was submitted."""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.testing.simulated_clock import SimulatedClock

STEPS_MAX = 1_000_000
"""More steps than this in one call means that the work never ends."""


class SimulatedTimer:
    """What ``call_later`` returns."""

    def __init__(self, due_seconds: float, callback: Callable[[], None]) -> None:
        self.due_seconds = due_seconds
        self.callback = callback
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True


class SimulatedBackground:
    """``run_all`` does the submitted work; ``advance`` moves the clock and fires timers."""

    def __init__(self, clock: SimulatedClock) -> None:
        self._clock = clock
        self._work: deque[tuple[Callable[[], object], Callable[[BaseException | None], None]]] = (
            deque()
        )
        self._timers: list[tuple[float, int, SimulatedTimer]] = []
        self._order = itertools.count()

    @property
    def pending(self) -> int:
        """Pieces of work that were submitted and have not run."""
        return len(self._work)

    @property
    def timers(self) -> int:
        return sum(not timer.is_cancelled for _, _, timer in self._timers)

    def submit(
        self, work: Callable[[], object], done: Callable[[BaseException | None], None]
    ) -> None:
        self._work.append((work, done))

    def call_later(self, delay_seconds: float, callback: Callable[[], None]) -> SimulatedTimer:
        timer = SimulatedTimer(self._clock.monotonic() + delay_seconds, callback)
        heapq.heappush(self._timers, (timer.due_seconds, next(self._order), timer))
        return timer

    def run_one(self) -> None:
        """Run the oldest piece of work, then its callback.

        A simulated crash is no Exception: it passes through, and nobody is called back.
        """
        self._run(*self._work.popleft())

    def run_newest(self) -> None:
        """As ``run_one``: with real threads the last one may overtake the others."""
        self._run(*self._work.pop())

    def _run(
        self, work: Callable[[], object], done: Callable[[BaseException | None], None]
    ) -> None:
        outcome: BaseException | None = None
        try:
            work()
        except Exception as error:
            outcome = error
        done(outcome)

    def run_all(self) -> None:
        """Run until no work is left, including what the callbacks submit."""
        for _ in range(STEPS_MAX):
            if not self._work:
                return
            self.run_one()
        raise AssertionError(f"background work goes on after {STEPS_MAX} steps")

    def advance(self, seconds: float) -> None:
        """Let time pass: timers fire at their moment, and work runs as it is submitted."""
        end = self._clock.monotonic() + seconds
        self.run_all()
        for _ in range(STEPS_MAX):
            if not self._timers or self._timers[0][0] > end:
                self._clock.advance(max(0.0, end - self._clock.monotonic()))
                return
            due, _, timer = heapq.heappop(self._timers)
            self._clock.advance(max(0.0, due - self._clock.monotonic()))
            if not timer.is_cancelled:
                timer.callback()
                self.run_all()
        raise AssertionError(f"timers fire without end after {STEPS_MAX} steps")

    def forget(self) -> None:
        """The process has died: nothing that was submitted or scheduled will happen."""
        self._work.clear()
        self._timers.clear()
