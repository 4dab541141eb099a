"""How much memory the columns of a run will take, judged by the run before it.

Columns that grow while they are filled are copied, and more than once. What a header claims is not
believed: only what another run of the same partition really held.
"""

from __future__ import annotations

from typing import NamedTuple

ROW_BYTES = 8
"""What a row takes in a column of numbers."""
SPARE_DIVISOR = 8
"""A run may hold so much of a part more than the one before it."""
SPARE_BYTES = 1024 * 1024
SPARE_ROWS = 16_384
"""There is always room for the most that the next call of the loop can hold, which is this much
unless batches are very large."""


class Room(NamedTuple):
    """Of columns: rows, and bytes of keys and values."""

    rows: int
    key_bytes: int
    value_bytes: int


class Density(NamedTuple):
    """So many bytes of batches held so much."""

    source_bytes: int
    held: Room

    def room_for(self, source_bytes: int, bytes_max: int) -> Room:
        """For a run of this size, within a limit; where nothing is known, not much."""
        if not self.source_bytes:
            expected = min(source_bytes, bytes_max)
            return Room(0, expected, expected)
        rows, *sizes = (count * source_bytes // self.source_bytes for count in self.held)
        key_bytes, value_bytes = (_roomy(min(size, bytes_max), SPARE_BYTES) for size in sizes)
        return Room(_roomy(min(rows, bytes_max // ROW_BYTES), SPARE_ROWS), key_bytes, value_bytes)


NO_ROOM = Room(0, 0, 0)
UNKNOWN_DENSITY = Density(0, NO_ROOM)


def _roomy(count: int, spare: int) -> int:
    return count + count // SPARE_DIVISOR + spare
