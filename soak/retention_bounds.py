"""How far retention by age may have gone: to the end that a log had so long ago, and no further."""

from __future__ import annotations

import time
from collections import defaultdict, deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from headrace.testing.history import History

    from .topics import LoadTopic


class RetentionBounds:
    """Remembers when a log ended where, for as long as its retention."""

    def __init__(self, history: History, now_s: Callable[[], float] = time.monotonic) -> None:
        self._history = history
        self._now_s = now_s
        self._retention_s: dict[str, float] = {}
        self._ends: defaultdict[tuple[str, int], deque[tuple[float, int]]] = defaultdict(deque)

    def add(self, topics: Iterable[LoadTopic]) -> None:
        for topic in topics:
            if topic.retention_ms is not None:
                self._retention_s[topic.name] = topic.retention_ms / 1000

    def forget(self, topic: str) -> None:
        self._retention_s.pop(topic, None)
        for place in [place for place in self._ends if place[0] == topic]:
            del self._ends[place]

    def note(self, place: tuple[str, int], asked_at_s: float, end_offset: int) -> None:
        """After the log start was asked for and before the history is told of it: the end was
        here when it was asked for, or later."""
        retention_s = self._retention_s.get(place[0])
        if retention_s is None:
            return
        ends = self._ends[place]
        ends.append((asked_at_s, end_offset))
        horizon_s = self._now_s() - retention_s
        # What had been written by the first look after the horizon may be gone; the rest not.
        while len(ends) > 1 and ends[0][0] < horizon_s:
            ends.popleft()
        self._history.partition(*place).allow_deletion_before(ends[0][1])
