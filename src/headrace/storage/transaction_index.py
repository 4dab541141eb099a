"""The transaction index: one entry of 34 bytes per aborted transaction, by its marker's offset.

Entries are few and precious to readers, so each is written at once, if the disk takes it, or else
with the next one or the next sync. The file exists only if a transaction that ended in this segment
was aborted.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from headrace.model.errors import StorageFailure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from headrace.environment.ports import DiskFile
    from headrace.storage.open_files import FileHandle

ENTRY = struct.Struct(">hqqqq")
VERSION = 0


class AbortedTransaction(NamedTuple):
    """``last_stable_offset`` is what it became when this transaction ended."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class TransactionIndex:
    """The aborted transactions whose marker lies in one segment."""

    __slots__ = ("_entries", "_written", "handle")

    def __init__(self, handle: FileHandle) -> None:
        self.handle = handle
        self._written = 0
        self._entries: list[AbortedTransaction] | None = None

    @property
    def entries(self) -> list[AbortedTransaction]:
        """All entries, read from the file when first asked for."""
        if self._entries is None:
            disk = self.handle.disk
            path = self.handle.path
            data = disk.read_file(path) if disk.exists(path) else b""
            whole = len(data) // ENTRY.size * ENTRY.size
            self._entries = [
                AbortedTransaction(*fields) for _, *fields in ENTRY.iter_unpack(data[:whole])
            ]
            self._written = len(self._entries)
        return self._entries

    def has_from(self, offset: int) -> bool:
        """Whether a transaction ended at ``offset`` or after."""
        entries = self.entries
        return bool(entries) and entries[-1].last_offset >= offset

    def forget(self) -> None:
        """The file was replaced: what was read of it no longer holds."""
        self._entries = None

    def append(self, aborted: AbortedTransaction) -> None:
        """The marker is in the log already, so this must not fail."""
        self.entries.append(aborted)
        with suppress(StorageFailure):
            self.write_out()

    def write_out(self) -> None:
        """Bring the file up to date."""
        if self._entries is None or self._written == len(self._entries):
            return
        # Where it is open, it exists: who syncs the segment's files must not pass it over.
        self.handle.creates = self.handle.file is None
        data = b"".join(ENTRY.pack(VERSION, *entry) for entry in self._entries[self._written :])
        self.handle.open().write_at(self._written * ENTRY.size, data)
        self._written = len(self._entries)

    def truncate_to(self, offset: int) -> None:
        """Forget transactions whose marker lies at ``offset`` or after."""
        kept = [entry for entry in self.entries if entry.last_offset < offset]
        if len(kept) < self._written:
            self.handle.open().truncate(len(kept) * ENTRY.size)
            self._written = len(kept)
        self._entries = kept

    def sync(self, sync_file: Callable[[DiskFile], None]) -> None:
        self.write_out()
        if self._entries:
            sync_file(self.handle.open())

    def fault(self, next_offset: int) -> str | None:
        """Why this cannot be a transaction index of a segment that ends there, or None."""
        disk, path = self.handle.disk, self.handle.path
        if not disk.exists(path):
            return None
        data = disk.read_file(path)
        if len(data) % ENTRY.size:
            return f"size {len(data)} is no multiple of {ENTRY.size}"
        for version, producer_id, first, last, stable in ENTRY.iter_unpack(data):
            if version != VERSION or producer_id < 0 or not 0 <= first <= last < next_offset:
                return f"impossible entry for producer {producer_id} at offsets {first}-{last}"
            if stable < 0:
                return f"impossible last stable offset {stable}"
        return None


def aborted_between(
    indexes: Iterable[TransactionIndex], offset: int, end_offset: int
) -> list[tuple[int, int]]:
    """(producer, first offset) of aborted transactions that touch ``[offset, end_offset)``."""
    found: list[tuple[int, int]] = []
    for index in indexes:
        entries = index.entries
        # In the order of their markers: those that ended before need not be looked at.
        for number in range(bisect_left(entries, offset, key=_last_offset_of), len(entries)):
            entry = entries[number]
            if entry.first_offset < end_offset:
                found.append((entry.producer_id, entry.first_offset))
            if entry.last_stable_offset >= end_offset:
                return sorted(found, key=_first_offset_of)
    return sorted(found, key=_first_offset_of)


def _last_offset_of(entry: AbortedTransaction) -> int:
    return entry.last_offset


def _first_offset_of(pair: tuple[int, int]) -> tuple[int, int]:
    return pair[1], pair[0]
