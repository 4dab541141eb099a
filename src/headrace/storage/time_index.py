"""The sparse time index: (greatest timestamp so far, offset relative to the segment's base).

Timestamps in it only ascend. The offset is the last one of the batch that brought the timestamp.
When a segment is closed, its greatest timestamp is always entered: retention reads it from there.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from headrace.storage.index_file import IndexFile
from headrace.storage.log_port import NO_TIMESTAMP

if TYPE_CHECKING:
    from headrace.storage.open_files import FileHandle

ENTRY = struct.Struct(">qi")


class TimeIndex(IndexFile):
    """Finds an offset before which no record is as young as a timestamp."""

    __slots__ = ("_last",)

    def __init__(self, handle: FileHandle, base_offset: int) -> None:
        super().__init__(handle, base_offset, ENTRY)
        self._last: tuple[int, int] | None = None

    def forget(self) -> None:
        """The file was replaced: what was read of it no longer holds."""
        self._last = None

    def restart(self) -> None:
        super().restart()
        self._last = None

    def maybe_append(self, timestamp_ms: int, offset: int) -> None:
        """Enter the timestamp if it is greater than all before."""
        last = self._last or self.last()
        if timestamp_ms > last[0]:
            self.push(timestamp_ms, offset - self.base_offset)
            self._last = (timestamp_ms, offset)

    def last(self) -> tuple[int, int]:
        """The last entry as (timestamp, offset); (-1, base offset) if there is none."""
        if self._last is None:
            count = self.count
            if count:
                timestamp_ms, relative = self.entry(count - 1)
                self._last = (timestamp_ms, self.base_offset + relative)
            else:
                self._last = (NO_TIMESTAMP, self.base_offset)
        return self._last

    def offset_before(self, timestamp_ms: int) -> int:
        """All records before this offset are older than ``timestamp_ms``."""
        number = self.floor(timestamp_ms - 1)
        return self.base_offset + self.entry(number)[1] if number >= 0 else self.base_offset

    def truncate_to(self, offset: int) -> None:
        """Forget everything from ``offset`` on."""
        relative_end = offset - self.base_offset
        count = sum(1 for _, relative in self.entries() if relative < relative_end)
        self.keep_first(count)
        self._last = None

    def fault(self) -> str | None:
        """Why this cannot be a time index, or None."""
        previous_timestamp, previous_offset = NO_TIMESTAMP, -1
        for timestamp_ms, relative in self.entries():
            if timestamp_ms <= previous_timestamp or relative < previous_offset:
                return f"entries do not ascend at timestamp {timestamp_ms}"
            previous_timestamp, previous_offset = timestamp_ms, relative
        return None
