"""Deadlines by key: a heap with lazy deletion.

Moving a deadline to later, which every heartbeat does, is one dictionary store: the heap keeps the
old, earlier entry, and when that comes up it is pushed again at the present deadline.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from headrace.coordination.shard import Decision

STALE_ENTRIES_MIN = 1_024
"""The heap is swept when more than half of it, and at least this many entries, are stale."""


class _Deadline(NamedTuple):
    due_ms: int
    action: Callable[[int], Decision]


class Deadlines:
    """At most one deadline per key. The action is called with the time when it is due."""

    __slots__ = ("_entries", "_heap", "_queued", "_sequence", "is_closer")

    def __init__(self) -> None:
        self._entries: dict[Hashable, _Deadline] = {}
        self._queued: dict[Hashable, int] = {}
        self._heap: list[tuple[int, int, Hashable]] = []
        self._sequence = 0
        self.is_closer = False
        """Whether ``next_ms`` may be earlier than when it was asked last."""

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._entries

    def set(self, key: Hashable, due_ms: int, action: Callable[[int], Decision]) -> None:
        self._entries[key] = _Deadline(due_ms, action)
        queued_ms = self._queued.get(key)
        if queued_ms is None or due_ms < queued_ms:
            self._push(key, due_ms)

    def cancel(self, key: Hashable) -> None:
        self._entries.pop(key, None)
        if len(self._heap) > STALE_ENTRIES_MIN and len(self._heap) > 2 * len(self._entries):
            self._sweep()

    def due_ms(self, key: Hashable) -> int | None:
        entry = self._entries.get(key)
        return None if entry is None else entry.due_ms

    def next_ms(self) -> int | None:
        """When to look again; never too late, possibly too early for a deadline that was moved."""
        self.is_closer = False
        self._settle()
        return self._heap[0][0] if self._heap else None

    def pop_due(self, now_ms: int) -> Callable[[int], Decision] | None:
        """Take the earliest deadline if it is due."""
        self._settle()
        if not self._heap or self._heap[0][0] > now_ms:
            return None
        _, _, key = heappop(self._heap)
        del self._queued[key]
        return self._entries.pop(key).action

    def _push(self, key: Hashable, due_ms: int) -> None:
        self._sequence += 1
        self.is_closer = True
        self._queued[key] = due_ms
        heappush(self._heap, (due_ms, self._sequence, key))

    def _settle(self) -> None:
        """Bring the heap to a state in which its top is a true deadline."""
        while self._heap:
            due_ms, _, key = self._heap[0]
            if self._queued.get(key) != due_ms:
                heappop(self._heap)
                continue
            entry = self._entries.get(key)
            if entry is not None and entry.due_ms == due_ms:
                return
            heappop(self._heap)
            del self._queued[key]
            if entry is not None:
                self._push(key, entry.due_ms)

    def _sweep(self) -> None:
        self._queued = {key: entry.due_ms for key, entry in self._entries.items()}
        self._heap = [
            (due_ms, sequence, key) for sequence, (key, due_ms) in enumerate(self._queued.items())
        ]
        self._sequence = len(self._heap)
        heapify(self._heap)
