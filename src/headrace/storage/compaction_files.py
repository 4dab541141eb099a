"""What compaction does in a thread: reads closed segments, writes ``.cleaned`` files.

Both jobs are generators that stop after each slice of work, so that the loop's thread decides
whether to go on. They open their own files and touch no object of the log.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from headrace.records.decode import decode_records
from headrace.records.header import BatchHeader, read_header
from headrace.storage.batch_walk import walk_batches
from headrace.storage.file_names import (
    CLEANED_SUFFIX,
    LOG_SUFFIX,
    OFFSET_INDEX_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    segment_file,
)
from headrace.storage.log_port import NO_TIMESTAMP
from headrace.storage.offset_index import ENTRY as OFFSET_ENTRY
from headrace.storage.time_index import ENTRY as TIME_ENTRY
from headrace.storage.transaction_index import ENTRY as TRANSACTION_ENTRY
from headrace.storage.transaction_index import VERSION as TRANSACTION_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headrace.environment.ports import Buffer, Disk, DiskFile
    from headrace.storage.compaction_filter import BatchFilter, KeyMap, TransactionTracker
    from headrace.storage.transaction_index import AbortedTransaction

SLICE_BYTES = 1024 * 1024
WRITE_BYTES = 1024 * 1024
"""Cleaned bytes are collected up to this size before they are written."""


class Source(NamedTuple):
    """A closed segment as the thread sees it."""

    base_offset: int
    path: str
    size_bytes: int


def fill_key_map(
    disk: Disk,
    sources: Sequence[Source],
    start_offset: int,
    end_offset: int,
    keys: KeyMap,
    transactions: TransactionTracker,
    decompressed_bytes_max: int,
) -> Iterator[None]:
    """Note the latest offset of each key from ``start_offset`` on, until the map is full."""
    for header, batch in _sliced_batches(disk, sources):
        if batch is None:
            yield
            continue
        if header.base_offset >= end_offset:
            return
        if header.is_control:
            transactions.marker_is_idle(header, batch)
        elif not transactions.is_aborted(header) and header.last_offset >= start_offset:
            if not keys.has_room_for(header.record_count):
                return
            for record in decode_records(batch, size_max=decompressed_bytes_max):
                if record.key is not None and record.offset >= start_offset:
                    keys.put(record.key, record.offset)
        keys.latest_offset = header.last_offset


def clean_group(
    disk: Disk, sources: Sequence[Source], rules: BatchFilter, cleaned: CleanedSegment
) -> Iterator[None]:
    """Write what stays of several segments into one; on the medium when it is done."""
    try:
        cleaned.open()
        for _, batch in _sliced_batches(disk, sources):
            if batch is None:
                yield
                continue
            kept = rules.clean(batch)
            cleaned.is_changed |= kept is not batch
            if kept is not None:
                cleaned.append(kept)
        cleaned.finish(rules.transactions.kept)
        rules.transactions.kept = []
    finally:
        cleaned.close()


def _sliced_batches(
    disk: Disk, sources: Sequence[Source]
) -> Iterator[tuple[BatchHeader, memoryview | None]]:
    """All batches, and after each slice of them a pair with None: a good moment to pause."""
    slice_bytes = 0
    for source in sources:
        with closing(disk.open(source.path)) as file:
            for _, fields, batch in walk_batches(file, 0, source.size_bytes):
                header = BatchHeader._make(fields)
                yield header, batch
                slice_bytes += len(batch)
                if slice_bytes >= SLICE_BYTES:
                    slice_bytes = 0
                    yield header, None


class CleanedSegment:
    """A segment in the making: log and indexes under names that end in ``.cleaned``."""

    def __init__(
        self, disk: Disk, directory: str, base_offset: int, index_interval_bytes: int
    ) -> None:
        self.base_offset = base_offset
        self.is_changed = False
        self.size_bytes = 0
        self._disk = disk
        self._directory = directory
        self._index_interval_bytes = index_interval_bytes
        self._bytes_since_index = 0
        self._buffer = bytearray()
        self._offsets = bytearray()
        self._times = bytearray()
        self._entered_timestamp_ms = NO_TIMESTAMP
        self._max_timestamp = (NO_TIMESTAMP, base_offset)
        self._file: DiskFile | None = None

    def open(self) -> None:
        self._file = self._disk.open(self._path(LOG_SUFFIX), create=True)
        self._file.truncate(0)

    def append(self, batch: Buffer) -> None:
        """As ``Segment.note_append`` does it: an index entry every so many bytes."""
        header = read_header(batch)
        if header.max_timestamp > self._max_timestamp[0]:
            self._max_timestamp = (header.max_timestamp, header.last_offset)
        if self._bytes_since_index > self._index_interval_bytes:
            self._offsets += OFFSET_ENTRY.pack(
                header.last_offset - self.base_offset, self.size_bytes
            )
            self._enter_time()
            self._bytes_since_index = 0
        self._bytes_since_index += len(batch)
        self._buffer += batch
        self.size_bytes += len(batch)
        if len(self._buffer) >= WRITE_BYTES:
            self._write_out()

    def finish(self, aborted: Sequence[AbortedTransaction]) -> None:
        """Complete the indexes and sync everything."""
        assert self._file is not None
        self._write_out()
        self._file.sync()
        self._enter_time()
        self._write_file(OFFSET_INDEX_SUFFIX, self._offsets)
        self._write_file(TIME_INDEX_SUFFIX, self._times)
        if aborted:
            entries = [TRANSACTION_ENTRY.pack(TRANSACTION_VERSION, *entry) for entry in aborted]
            self._write_file(TRANSACTION_INDEX_SUFFIX, b"".join(entries))

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _enter_time(self) -> None:
        timestamp_ms, offset = self._max_timestamp
        if timestamp_ms > self._entered_timestamp_ms:
            self._times += TIME_ENTRY.pack(timestamp_ms, offset - self.base_offset)
            self._entered_timestamp_ms = timestamp_ms

    def _write_out(self) -> None:
        if self._buffer:
            assert self._file is not None
            self._file.write_at(self.size_bytes - len(self._buffer), self._buffer)
            self._buffer.clear()

    def _write_file(self, suffix: str, data: Buffer) -> None:
        with closing(self._disk.open(self._path(suffix), create=True)) as file:
            file.truncate(0)
            file.write_at(0, data)
            file.sync()

    def _path(self, suffix: str) -> str:
        return segment_file(self._directory, self.base_offset, suffix) + CLEANED_SUFFIX
