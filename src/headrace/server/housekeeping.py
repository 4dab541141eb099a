"""Calls the storage's chores every few seconds."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from headrace.broker.topics import TopicEvent
from headrace.model.errors import HeadraceError
from headrace.storage.chores import Chores

if TYPE_CHECKING:
    from headrace.broker.broker import Broker
    from headrace.broker.topics import TopicChange
    from headrace.environment.ports import Background, Cancellable

log = logging.getLogger(__name__)

INTERVAL_SECONDS = 5.0
"""How often the storage is asked; it knows itself what is due."""
INTERVAL_SECONDS_MIN = 0.05
"""However often compaction or retention are wanted."""


class Housekeeping:
    """A timer around ``Chores``."""

    def __init__(self, broker: Broker, background: Background) -> None:
        self._background = background
        self._broker = broker
        self._chores = Chores(broker.logs, broker.clock, lambda: broker.config)
        broker.topics.on_change(self._topic_changed)
        self._timer: Cancellable | None = None

    @property
    def uncleanable_count(self) -> int:
        return self._chores.uncleanable_count

    def start(self) -> None:
        self._wait()

    def _wait(self) -> None:
        config = self._broker.config
        wanted_ms = min(config.log_cleaner_backoff_ms, config.log_retention_check_interval_ms)
        seconds = min(INTERVAL_SECONDS, max(INTERVAL_SECONDS_MIN, wanted_ms / 1000))
        self._timer = self._background.call_later(seconds, self._turn)

    def _turn(self) -> None:
        try:
            self._chores.run()
        except HeadraceError as error:
            # A full disk must not end the chores: retention is what will make room.
            log.error("housekeeping failed: %s", error.message)
        self._wait()

    def _topic_changed(self, change: TopicChange) -> None:
        if change.event is TopicEvent.DELETED:
            for partition in change.topic.partitions:
                self._chores.forget(partition.address)

    def stop(self) -> None:
        self._chores.stop()
        if self._timer is not None:
            self._timer.cancel()
