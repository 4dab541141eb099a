"""Denials in the operator's log: each once in a while, and never so many that they are the attack.

A client that is refused tries again, and one that means harm asks for a million names.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from headrace.environment.ports import Clock
    from headrace.security.acl import Operation, Principal, ResourceType

log = logging.getLogger(__name__)

WINDOW_SECONDS = 600.0
NAME_LENGTH_SHOWN_MAX = 255
DENIALS_PER_WINDOW_MAX = 200
"""Lines in one window; the next one says that there are more."""


class Denial(NamedTuple):
    """Who was refused what."""

    principal: Principal
    host: str
    operation: Operation
    resource_type: ResourceType
    name: str

    def __str__(self) -> str:
        name = self.name[:NAME_LENGTH_SHOWN_MAX]
        what = f"{self.operation.name} on {self.resource_type.name} {name!r}"
        return f"{self.principal} at {self.host} was denied {what}"


class DenialLog:
    """Remembers what was logged in the present window."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._noted: set[Denial] = set()
        self._window_began = clock.monotonic()

    def note(self, denial: Denial) -> None:
        now = self._clock.monotonic()
        if now - self._window_began >= WINDOW_SECONDS:
            self.begin_anew(now)
        if denial in self._noted or len(self._noted) > DENIALS_PER_WINDOW_MAX:
            return
        self._noted.add(denial)
        if len(self._noted) > DENIALS_PER_WINDOW_MAX:
            log.warning("more was denied than is worth a line each; the next lines come later")
        else:
            log.warning("%s", denial)

    def begin_anew(self, now: float | None = None) -> None:
        """Everything may be logged again: the rules are others now, or the window is over."""
        self._noted.clear()
        self._window_began = self._clock.monotonic() if now is None else now
