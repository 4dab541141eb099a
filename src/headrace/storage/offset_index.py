"""The sparse offset index: (offset relative to the segment's base, position in the log file).

An entry names the *last* offset of a batch and the position where that batch *begins*; so the batch
that holds an offset never lies before the position that ``position_before`` gives for it.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from headrace.storage.index_file import IndexFile

if TYPE_CHECKING:
    from headrace.storage.open_files import FileHandle

ENTRY = struct.Struct(">ii")
POSITION_FIELD = 1


class OffsetIndex(IndexFile):
    """Finds a position at or before the batch that holds an offset."""

    __slots__ = ()

    def __init__(self, handle: FileHandle, base_offset: int) -> None:
        super().__init__(handle, base_offset, ENTRY)

    def append(self, last_offset: int, position: int) -> None:
        self.push(last_offset - self.base_offset, position)

    def position_before(self, offset: int) -> int:
        """Position of an indexed batch at or before the one with ``offset``; 0 if none is."""
        return self.entry_before(offset)[1]

    def entry_before(self, offset: int) -> tuple[int, int]:
        """The entry (relative offset, position) that leads to ``offset``; (0, 0) if none does."""
        number = self.floor(offset - self.base_offset)
        if number < 0:
            return 0, 0
        relative, position = self.entry(number)
        return relative, position

    def last_position_up_to(self, position: int) -> int:
        """The last indexed position that is at most ``position``; 0 if none is."""
        number = self.floor(position, field=POSITION_FIELD)
        return self.entry(number)[POSITION_FIELD] if number >= 0 else 0

    def entry_from(self, position: int) -> tuple[int, int] | None:
        """The first entry (offset, position) of a batch that begins at ``position`` or after."""
        number = self.floor(position - 1, field=POSITION_FIELD) + 1
        if number >= self.count:
            return None
        relative, found = self.entry(number)
        return self.base_offset + relative, found

    def last(self) -> tuple[int, int]:
        """The last entry as (offset, position); (base offset, 0) if there is none."""
        count = self.count
        if not count:
            return self.base_offset, 0
        relative, position = self.entry(count - 1)
        return self.base_offset + relative, position

    def truncate_to(self, offset: int) -> None:
        """Forget everything from ``offset`` on."""
        self.keep_first(self.floor(offset - self.base_offset - 1) + 1)

    def fault(self, log_size_bytes: int) -> str | None:
        """Why this index cannot be the one of a log of that size, or None."""
        previous_offset, previous_position = -1, -1
        for relative, position in self.entries():
            if relative <= previous_offset or position <= previous_position:
                return f"entries do not ascend at position {position}"
            if position >= log_size_bytes:
                return f"entry points to byte {position} of {log_size_bytes}"
            previous_offset, previous_position = relative, position
        return None
