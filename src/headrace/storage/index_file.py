"""Entries of one fixed size, ascending, in a file: what both sparse indexes have in common.

New entries collect in a small tail in memory and reach the file in blocks, so that an append to the
log writes to no second file. After a crash the file may thus lag behind the log: recovery rebuilds
the indexes of every segment that was not flushed, as it has to for Kafka's format anyway.
"""

from __future__ import annotations

from bisect import bisect_right
from contextlib import suppress
from operator import itemgetter
from typing import TYPE_CHECKING

from headrace.model.errors import StorageFailure

if TYPE_CHECKING:
    from collections.abc import Callable
    from struct import Struct

    from headrace.environment.ports import DiskFile
    from headrace.storage.open_files import FileHandle

TAIL_BYTES_MAX = 4096
_BLOCK_ENTRIES = 256


class IndexFile:
    """The file and its unwritten tail; subclasses say what an entry means."""

    __slots__ = ("_entry", "_entry_size", "_tail", "_written", "base_offset", "handle")

    def __init__(self, handle: FileHandle, base_offset: int, entry: Struct) -> None:
        self.handle = handle
        self.base_offset = base_offset
        self._entry = entry
        self._entry_size = entry.size
        self._tail = bytearray()
        self._written = -1

    @property
    def entry_size(self) -> int:
        return self._entry_size

    @property
    def count(self) -> int:
        return self.written_count + len(self._tail) // self._entry_size

    @property
    def written_count(self) -> int:
        """Entries in the file; asked of the disk once."""
        if self._written < 0:
            disk = self.handle.disk
            path = self.handle.path
            self._written = disk.size(path) // self._entry_size if disk.exists(path) else 0
        return self._written

    def start_empty(self) -> None:
        """This index belongs to a new segment: no file is there yet."""
        self._written = 0
        self._tail.clear()

    def restart(self) -> None:
        """Forget all entries, whatever the file holds."""
        self.start_empty()
        self.handle.creates = True
        self.handle.open().truncate(0)

    def push(self, *fields: int) -> None:
        """Add an entry in memory; a full tail goes to the file.

        If the disk refuses, the tail waits for the next entry, or for the end of the segment: the
        batch that this entry leads to is written, and its append must not fail any more.
        """
        self._tail += self._entry.pack(*fields)
        if len(self._tail) >= TAIL_BYTES_MAX:
            with suppress(StorageFailure):
                self.write_out()

    def write_out(self) -> None:
        """Bring the file up to date; it exists afterwards, even if there is no entry."""
        written = self.written_count
        if self._tail or self.handle.creates:
            file = self.handle.open()
            if self._tail:
                file.write_at(written * self._entry_size, self._tail)
            self._written = written + len(self._tail) // self._entry_size
            self._tail.clear()

    def keep_first(self, count: int) -> None:
        """Drop all entries after the first ``count``."""
        written = self.written_count
        if count < written:
            self._tail.clear()
            self.handle.open().truncate(count * self._entry_size)
            self._written = count
        else:
            del self._tail[(count - written) * self._entry_size :]

    def sync(self, sync_file: Callable[[DiskFile], None]) -> None:
        self.write_out()
        if self.written_count:
            sync_file(self.handle.open())

    def entry(self, number: int) -> tuple[int, ...]:
        """The raw fields of one entry."""
        written = self.written_count
        size = self._entry_size
        if number >= written:
            return self._entry.unpack_from(self._tail, (number - written) * size)
        return self._entry.unpack(self.handle.open().read_at(number * size, size))

    def entries(self) -> list[tuple[int, ...]]:
        """All entries; for checks, tests and tools."""
        written = self.written_count
        data = self.handle.open().read_at(0, written * self._entry_size) if written else b""
        return list(self._entry.iter_unpack(data + self._tail))

    def floor(self, key: int, field: int = 0) -> int:
        """Number of the last entry whose field is at most ``key``; -1 if there is none. All fields
        ascend."""
        written = self.written_count
        if self._tail and self._entry.unpack_from(self._tail, 0)[field] <= key:
            return written + _floor_of(list(self._entry.iter_unpack(self._tail)), key, field)
        if not written:
            return -1
        low, high = 0, written
        while high - low > _BLOCK_ENTRIES:
            middle = (low + high) // 2
            if self.entry(middle)[field] <= key:
                low = middle
            else:
                high = middle
        size = self._entry_size
        block = self.handle.open().read_at(low * size, (high - low) * size)
        return low + _floor_of(list(self._entry.iter_unpack(block)), key, field)


def _floor_of(entries: list[tuple[int, ...]], key: int, field: int) -> int:
    return bisect_right(entries, key, key=itemgetter(field)) - 1
