"""How much memory large requests may take while they arrive and are handled, over all connections.

Small ones are bounded by the number of connections. A large one reserves its whole size before
most of it is read; where that is not free, nothing is read from its connection until it is.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

LARGE_FROM_BYTES = 1024 * 1024
UNLIMITED = -1


class LargeFrames:
    """A budget of bytes. Who finds it used up is served in the order of asking."""

    def __init__(self, size_bytes_max: int, frame_bytes_max: int) -> None:
        """One frame of the largest size always fits, or its connection would wait for ever."""
        self._is_limited = size_bytes_max != UNLIMITED
        self._free_bytes = max(size_bytes_max, frame_bytes_max)
        self._waiting: deque[tuple[int, Callable[[], None]]] = deque()

    def reserve(self, size_bytes: int, granted: Callable[[], None]) -> bool:
        """True if it is yours; else ``granted`` is called when it is."""
        if self._is_limited and (self._waiting or size_bytes > self._free_bytes):
            self._waiting.append((size_bytes, granted))
            return False
        self._free_bytes -= size_bytes
        return True

    def release(self, size_bytes: int) -> None:
        """Give back what was reserved."""
        self._free_bytes += size_bytes
        while self._waiting and self._waiting[0][0] <= self._free_bytes:
            size, granted = self._waiting.popleft()
            self._free_bytes -= size
            granted()

    def withdraw(self, granted: Callable[[], None]) -> None:
        """Who waited is gone."""
        self._waiting = deque(entry for entry in self._waiting if entry[1] != granted)
        self.release(0)
