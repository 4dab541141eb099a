"""Long work in small steps: one step of one connection in each turn of the loop, no more.

However many large requests are under way, whoever sends a small one waits for a single step.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable


class Turns:
    """The pieces of work that are under way, in the order in which they get their next step."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: deque[Callable[[], bool]] = deque()

    def add(self, step: Callable[[], bool]) -> None:
        """``step`` is called once in a turn until it returns False; it must not raise."""
        self._waiting.append(step)
        if len(self._waiting) == 1:
            self._loop.call_soon(self._turn)

    def finish(self) -> None:
        """For the stop: do what has begun, before what it works on is closed."""
        while self._waiting:
            self._step()

    def _turn(self) -> None:
        if self._waiting:  # else all of it was finished in one go
            self._step()
        if self._waiting:
            self._loop.call_soon(self._turn)

    def _step(self) -> None:
        step = self._waiting[0]
        goes_on = step()
        self._waiting.popleft()
        if goes_on:
            self._waiting.append(step)
