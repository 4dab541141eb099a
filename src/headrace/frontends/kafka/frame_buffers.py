"""Memory that requests of up to a megabyte arrive in, used again and again.

Fresh memory is zeroed, comes page by page, and is copied each time a request outgrows it: together
that cost more than everything else that is done with a large batch. There are few of these buffers,
so the size that a peer claims can be believed while one is free.
"""

from __future__ import annotations

from headrace.frontends.kafka.large_frames import LARGE_FROM_BYTES

BUFFER_BYTES = LARGE_FROM_BYTES
BUFFERS_MAX = 16


class FrameBuffers:
    """Buffers of one size, made when they are first needed."""

    def __init__(self, count_max: int = BUFFERS_MAX) -> None:
        self._free: list[bytearray] = []
        self._unmade = count_max

    def take(self) -> bytearray | None:
        """A buffer of ``BUFFER_BYTES`` with anything in it; None if all are in use."""
        while self._free:
            buffer = self._free.pop()
            if not _is_looked_at(buffer):
                return buffer
            self._unmade += 1  # it goes with the last who looks at it
        if self._unmade:
            self._unmade -= 1
            return bytearray(BUFFER_BYTES)
        return None

    def give_back(self, buffer: bytearray) -> None:
        """Whether somebody still looks at a slice of it is found out when it is needed again: the
        loop itself does, while it calls us."""
        self._free.append(buffer)


def _is_looked_at(buffer: bytearray) -> bool:
    try:
        # A change of size is refused as long as there is a view.
        buffer.append(buffer.pop())
    except BufferError:
        return True
    return False
