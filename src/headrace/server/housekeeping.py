"""Work that is due from time to time: retention, compaction, checkpoints, expiry."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from headrace.model.errors import HeadraceError

if TYPE_CHECKING:
    from headrace.broker.broker import Broker
    from headrace.environment.ports import Background, Cancellable

log = logging.getLogger(__name__)

INTERVAL_SECONDS = 5.0
"""How often the storage is asked; it knows itself what is due."""


class Housekeeping:
    """Calls the storage's chores on the loop's thread; long ones go on in the background."""

    def __init__(self, broker: Broker, background: Background) -> None:
        self._broker = broker
        self._background = background
        self._timer: Cancellable | None = None

    def start(self) -> None:
        self._timer = self._background.call_later(INTERVAL_SECONDS, self._turn)

    def _turn(self) -> None:
        try:
            self._broker.logs.run_housekeeping()
        except HeadraceError as error:
            # A full disk must not end the chores: retention is what will make room.
            log.error("housekeeping failed: %s", error.message)
        self._timer = self._background.call_later(INTERVAL_SECONDS, self._turn)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
