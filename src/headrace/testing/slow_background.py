"""Background work that takes its time: begun and answered in a seeded order, amid other work.

As with real threads, two pieces of work may run in either order, and an answer reaches the loop
some time after the work is done. A callback that raises is noted, as the event loop notes it.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

from headrace.testing.simulated_background import SimulatedBackground

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from headrace.testing.simulated_clock import SimulatedClock

THREADS = 4
"""So many pieces of work may overtake each other; those behind them wait."""


class SlowBackground(SimulatedBackground):
    """With ``chance`` work waits until ``run_some`` picks it; without, it is as the plain one."""

    def __init__(self, clock: SimulatedClock, chance: Random | None = None) -> None:
        super().__init__(clock)
        self.callback_failures: list[Exception] = []
        self._chance = chance
        self._answers: list[tuple[Callable[[BaseException | None], None], Exception | None]] = []

    @property
    def is_slow(self) -> bool:
        return self._chance is not None

    def breathe(self) -> None:
        """A moment passes: everything happens, or with ``chance`` a little of it."""
        if self._chance is None:
            self.run_all()
            return
        for _ in range(self._chance.randrange(4)):
            if self._answers and self._chance.random() < 0.5:
                self._answer()
            elif self._work:
                self._do_work(self._chance.randrange(min(THREADS, len(self._work))))

    def advance(self, seconds: float) -> None:
        """Let time pass; with ``chance`` due timers fire, but the work takes its time."""
        if self._chance is None:
            super().advance(seconds)
            return
        self._clock.advance(seconds)
        while self._timers and self._timers[0][0] <= self._clock.monotonic():
            _, _, timer = heapq.heappop(self._timers)
            if not timer.is_cancelled:
                timer.callback()
        self.breathe()

    def run_one(self) -> None:
        """The oldest piece of work and its answer; answers that wait come before it."""
        while self._answers:
            self._answer()
        if self._work:
            self._do_work(0)
            self._answer()

    def run_all(self) -> None:
        while self._answers:
            self._answer()
        super().run_all()

    def forget(self) -> None:
        super().forget()
        self._answers.clear()

    def _do_work(self, index: int) -> None:
        work, done = self._work[index]
        del self._work[index]
        outcome: Exception | None = None
        try:
            work()
        except Exception as error:
            outcome = error
        self._answers.append((done, outcome))

    def _answer(self) -> None:
        done, outcome = self._answers.pop(0)
        try:
            done(outcome)
        except Exception as error:
            self.callback_failures.append(error)
