"""When answers leave: all that became ready in one turn of the loop, together at its end.

To send wakes the peer up, which costs more than most requests do, and a peer that is woken at once
takes the processor from the requests that have come already. So these are handled first; the peers
then find more than one answer, and send more than one request.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

from headrace.frontends.common.alertness import Alertness

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable


class Departures:
    """Who has something to send."""

    def __init__(self, loop: asyncio.AbstractEventLoop, spin_seconds: float) -> None:
        self._loop = loop
        self._waiting: list[Callable[[], None]] = []
        self._alertness = Alertness(spin_seconds)
        self._is_spinning = False

    def add(self, send: Callable[[], None]) -> None:
        """``send`` is called once, at the end of this turn; it must not raise."""
        if not self._waiting:
            self._alertness.requests_came(perf_counter())
            self._loop.call_soon(self._leave)
        self._waiting.append(send)

    def _leave(self) -> None:
        waiting, self._waiting = self._waiting, []
        for send in waiting:
            send()
        if self._alertness.is_worth_it and not self._is_spinning:
            self._is_spinning = True
            self._loop.call_soon(self._spin)
        self._alertness.idle_from(perf_counter())

    def _spin(self) -> None:
        """As long as something is to be called soon, the loop polls instead of sleeping."""
        if self._alertness.stays_awake(perf_counter()):
            self._loop.call_soon(self._spin)
        else:
            self._is_spinning = False
