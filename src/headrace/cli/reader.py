"""Takes messages from a consumer until an end is reached: a count, the logs' ends, silence."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headrace.cli.client import Broker

POLL_SECONDS = 0.5
BATCH_RECORDS_MAX = 500
END_OF_PARTITION = "_PARTITION_EOF"


class Limits(NamedTuple):
    """Where to stop; None means: not for this reason."""

    records: int | None = None
    ends: dict[int, int] | None = None
    """The next offset of each partition."""
    idle_seconds: float | None = None


class Reader:
    """One pass over what a consumer receives."""

    def __init__(
        self, broker: Broker, consumer: Any, limits: Limits, before_wait: Callable[[], object]
    ) -> None:
        """``before_wait`` is called whenever more must be fetched: time to flush."""
        self._broker = broker
        self._consumer = consumer
        self._left = limits.records
        self._ends = None if limits.ends is None else dict(limits.ends)
        self._idle_seconds = limits.idle_seconds
        self._before_wait = before_wait

    def messages(self) -> Iterator[Any]:
        quiet_since = time.monotonic()
        while self._ends != {}:
            wanted = BATCH_RECORDS_MAX if self._left is None else min(self._left, BATCH_RECORDS_MAX)
            self._before_wait()
            with self._broker.errors():
                batch = self._consumer.consume(wanted, POLL_SECONDS)
            if batch:
                quiet_since = time.monotonic()
            elif self._has_been_quiet(time.monotonic() - quiet_since):
                return
            for message in batch:
                if self._is_wanted(message):
                    yield message
                    if self._left is not None:
                        self._left -= 1
            if self._left == 0:
                return

    def _has_been_quiet(self, seconds: float) -> bool:
        return self._idle_seconds is not None and seconds >= self._idle_seconds

    def _is_wanted(self, message: Any) -> bool:
        """Whether it is a record that was asked for; takes note of partitions that are done."""
        error = message.error()
        if error is not None and error.name() != END_OF_PARTITION:
            # An error of the group is of no topic.
            topic = message.topic()
            raise self._broker.failure(error, "" if topic is None else f"topic {topic}")
        if self._ends is None:
            return error is None
        end = self._ends.get(message.partition())
        # Markers of transactions are never handed out, so the end is told by an event of its own.
        reached = message.offset() + (error is None)
        if end is not None and reached >= end:
            del self._ends[message.partition()]
        return error is None and end is not None and message.offset() < end
