"""One segment: a log file with its three indexes, and what is known about them in memory.

Everything about a closed segment is looked up when first asked for. The active segment also keeps
the places of its latest batches, so that readers at the tail find theirs without touching a file.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from headrace.model.errors import DamagedLog
from headrace.records.header import HEADER, HEADER_SIZE, LENGTH_OVERHEAD, MAGIC
from headrace.storage.batch_walk import walk_headers
from headrace.storage.file_names import (
    LOG_SUFFIX,
    OFFSET_INDEX_SUFFIX,
    SEGMENT_SUFFIXES,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    segment_file,
)
from headrace.storage.log_port import NO_TIMESTAMP
from headrace.storage.offset_index import OffsetIndex
from headrace.storage.time_index import TimeIndex
from headrace.storage.transaction_index import TransactionIndex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headrace.config.topic import TopicConfig
    from headrace.environment.ports import DiskFile
    from headrace.storage.batch_walk import RawHeader
    from headrace.storage.open_files import FileHandle, OpenFiles

RECENT_BATCHES_MIN = 128
_RECENT_BATCHES_MAX = 2 * RECENT_BATCHES_MIN
RELATIVE_OFFSET_MAX = 2**31 - 1
_ALWAYS_ASK = -(2**63)


class BatchPlace(NamedTuple):
    """Where a batch lies in its segment."""

    base_offset: int
    position: int
    size_bytes: int


class Segment:
    """Bytes ``[0, size_bytes)`` of a file: batches of offsets ``[base_offset, next_offset)``."""

    __slots__ = (
        "_index_room",
        "_offset_index",
        "_recent_offsets",
        "_recent_positions",
        "_time_index",
        "_transaction_index",
        "base_offset",
        "bytes_since_index",
        "created_ms",
        "directory",
        "files",
        "first_timestamp_ms",
        "handle",
        "index_bytes_max",
        "index_interval_bytes",
        "is_loaded",
        "jitter_ms",
        "max_timestamp_ms",
        "max_timestamp_offset",
        "next_offset",
        "offset_max",
        "roll_after_ms",
        "size_bytes",
        "size_limit_bytes",
    )

    def __init__(
        self, files: OpenFiles, directory: str, base_offset: int, config: TopicConfig, now_ms: int
    ) -> None:
        self.files = files
        self.directory = directory
        self.base_offset = base_offset
        self.offset_max = base_offset + RELATIVE_OFFSET_MAX
        self.created_ms = now_ms
        self.jitter_ms = 0
        self.handle = self._handle(LOG_SUFFIX)
        self._offset_index: OffsetIndex | None = None
        self._time_index: TimeIndex | None = None
        self._transaction_index: TransactionIndex | None = None
        self._recent_offsets = array("q")
        self._recent_positions = array("q")
        self.index_interval_bytes = config.index_interval_bytes
        self.index_bytes_max = config.segment_index_bytes
        self.bytes_since_index = 0
        self._index_room = 0
        """Entries that fit into the indexes for sure; 0: it has to be looked up."""
        self.is_loaded = False
        self.size_bytes = -1
        self.next_offset = -1
        self.max_timestamp_ms = NO_TIMESTAMP
        self.max_timestamp_offset = base_offset
        self.first_timestamp_ms: int | None = None
        self.size_limit_bytes = _ALWAYS_ASK
        self.roll_after_ms = _ALWAYS_ASK

    def _handle(self, suffix: str) -> FileHandle:
        return self.files.handle(segment_file(self.directory, self.base_offset, suffix))

    @property
    def path(self) -> str:
        return self.handle.path

    @property
    def offset_index(self) -> OffsetIndex:
        if self._offset_index is None:
            self._offset_index = OffsetIndex(self._handle(OFFSET_INDEX_SUFFIX), self.base_offset)
        return self._offset_index

    @property
    def time_index(self) -> TimeIndex:
        if self._time_index is None:
            self._time_index = TimeIndex(self._handle(TIME_INDEX_SUFFIX), self.base_offset)
        return self._time_index

    @property
    def transaction_index(self) -> TransactionIndex:
        if self._transaction_index is None:
            self._transaction_index = TransactionIndex(self._handle(TRANSACTION_INDEX_SUFFIX))
        return self._transaction_index

    # --- becoming known ---------------------------------------------------------------------------

    def start_empty(self) -> None:
        """A new segment: its files come into being when they are first written."""
        self.handle.creates = True
        for index in (self.offset_index, self.time_index):
            index.handle.creates = True
            index.start_empty()
        self.size_bytes = 0
        self.next_offset = self.base_offset
        self.is_loaded = True

    def load(self, next_offset: int | None = None) -> None:
        """Look up size, end and greatest timestamp of a segment that was closed properly."""
        if self.is_loaded:
            return
        disk = self.files.disk
        self.size_bytes = disk.size(self.path) if disk.exists(self.path) else 0
        for handle in (self.handle, self.offset_index.handle, self.time_index.handle):
            handle.creates = not disk.exists(handle.path)
        if self._indexes_are_doubtful():
            self._rebuild_indexes()
        self.max_timestamp_ms, self.max_timestamp_offset = self.time_index.last()
        self.next_offset = self._find_next_offset() if next_offset is None else next_offset
        self.is_loaded = True

    def _indexes_are_doubtful(self) -> bool:
        """A cheap look at both ends: they were not synced with the records at the last stop."""
        if not self.size_bytes:
            return False
        disk = self.files.disk
        for index in (self.offset_index, self.time_index):
            if index.handle.creates or disk.size(index.handle.path) % index.entry_size:
                return True
        last_offset, position = self.offset_index.last()
        last_timestamp_ms, timestamp_offset = self.time_index.last()
        return (
            not 0 <= position < self.size_bytes
            or last_offset < self.base_offset
            or (position == 0 and self.offset_index.count > 0)
            or (self.time_index.count > 0 and last_timestamp_ms <= 0)
            or timestamp_offset < self.base_offset
        )

    def _rebuild_indexes(self) -> None:
        """From the headers of all batches; their checksums are the readers' business."""
        size_bytes = self.size_bytes
        for index in (self.offset_index, self.time_index):
            index.restart()
        self.size_bytes = 0
        for _, header in self._sound_headers(0, size_bytes):
            last_offset = header[0] + header[6]
            self.note_append(header[0], last_offset, header[1] + LENGTH_OVERHEAD, header[8])
        self.size_bytes = size_bytes
        self.finish()

    def _find_next_offset(self) -> int:
        if not self.size_bytes:
            return self.base_offset
        next_offset = self.base_offset
        _, position = self.offset_index.last()
        for _, header in self._sound_headers(position, self.size_bytes):
            next_offset = header[0] + header[6] + 1
        return next_offset

    def is_whole_up_to(self, next_offset: int) -> bool:
        """Whether the file ends with a batch, and the batch where the log ends."""
        end, end_offset = 0, self.base_offset
        start = self.position_before(next_offset - 1)
        for position, header in self._sound_headers(start, self.size_bytes):
            end, end_offset = position + header[1] + LENGTH_OVERHEAD, header[0] + header[6] + 1
        return end == self.size_bytes and end_offset == next_offset

    def _sound_headers(self, position: int, end: int) -> Iterator[tuple[int, RawHeader]]:
        """Batches up to the first that cannot be one of this segment.

        Damage must not hide what lies before it; who reads what lies behind is told then.
        """
        with suppress(DamagedLog):
            for place, header in walk_headers(self.handle.open(), position, end):
                if self._is_out_of_place(header):
                    return
                yield place, header

    def _is_out_of_place(self, header: RawHeader) -> bool:
        first_offset = header[0]
        return not self.base_offset <= first_offset <= first_offset + header[6] <= self.offset_max

    def known_size(self) -> int:
        """Size in bytes without opening anything."""
        if self.size_bytes < 0:
            disk = self.files.disk
            return disk.size(self.path) if disk.exists(self.path) else 0
        return self.size_bytes

    def load_first_timestamp(self) -> int:
        """Timestamp of the first batch: the age of a segment counts from it."""
        if self.first_timestamp_ms is None:
            for _, header in walk_headers(self.handle.open(), 0, self.size_bytes):
                self.first_timestamp_ms = header[8]
                break
        return NO_TIMESTAMP if self.first_timestamp_ms is None else self.first_timestamp_ms

    def set_limits(self, config: TopicConfig) -> None:
        """Work out, as plain numbers, when the next append has to begin another segment."""
        self.load()
        self.index_interval_bytes = config.index_interval_bytes
        self.size_limit_bytes = config.internal_segment_bytes or config.segment_bytes
        self.index_bytes_max = config.segment_index_bytes
        self._measure_index_room()
        if not self.size_bytes:
            # The first batch sets the age of the segment, so it has to ask.
            self.roll_after_ms = _ALWAYS_ASK
            return
        first_ms = self.load_first_timestamp()
        # Without a timestamp the wall clock decides, so every append has to ask.
        self.roll_after_ms = (
            first_ms + config.segment_ms - self.jitter_ms if first_ms >= 0 else _ALWAYS_ASK
        )

    def must_roll(
        self,
        config: TopicConfig,
        size_bytes: int,
        max_timestamp_ms: int,
        last_offset: int,
        now_ms: int,
    ) -> bool:
        """Kafka's rule: by size, by age of the first batch, by full indexes, by relative offset."""
        if not self.size_bytes:
            return last_offset > self.offset_max
        segment_bytes = config.internal_segment_bytes or config.segment_bytes
        first_ms = self.load_first_timestamp()
        waited_ms = max_timestamp_ms - first_ms if first_ms >= 0 else now_ms - self.created_ms
        return (
            self.size_bytes + size_bytes > segment_bytes
            or waited_ms > config.segment_ms - self.jitter_ms
            or last_offset > self.offset_max
            or self._indexes_are_full()
        )

    def _indexes_are_full(self) -> bool:
        return self._find_index_room() <= 0

    def _find_index_room(self) -> int:
        index_bytes = self.index_bytes_max
        # The last slot of the time index is kept for the entry made when the segment is closed.
        return min(
            index_bytes // 8 - self.offset_index.count,
            index_bytes // 12 - 1 - self.time_index.count,
        )

    def _measure_index_room(self) -> None:
        """An append adds at most one entry to each index, so until then nobody has to count."""
        self._index_room = self._find_index_room()
        if self._index_room <= 0:
            self.size_limit_bytes = _ALWAYS_ASK

    # --- appending --------------------------------------------------------------------------------

    def note_append(
        self, base_offset: int, last_offset: int, size_bytes: int, max_timestamp_ms: int
    ) -> None:
        """A batch has been written at ``size_bytes``: remember it."""
        position = self.size_bytes
        self.size_bytes = position + size_bytes
        self.next_offset = last_offset + 1
        if max_timestamp_ms > self.max_timestamp_ms:
            self.max_timestamp_ms = max_timestamp_ms
            self.max_timestamp_offset = last_offset
        since = self.bytes_since_index
        if since > self.index_interval_bytes:
            self.offset_index.append(last_offset, position)
            self.time_index.maybe_append(self.max_timestamp_ms, self.max_timestamp_offset)
            since = 0
            self._index_room -= 1
            if self._index_room <= 0:
                self._measure_index_room()
        self.bytes_since_index = since + size_bytes
        offsets = self._recent_offsets
        offsets.append(base_offset)
        self._recent_positions.append(position)
        if len(offsets) > _RECENT_BATCHES_MAX:
            del offsets[:RECENT_BATCHES_MIN]
            del self._recent_positions[:RECENT_BATCHES_MIN]

    def undo_write(self) -> None:
        """A write failed half-way: cut off what it may have left."""
        file = self.handle.file
        if file is not None and file.size() > self.size_bytes:
            file.truncate(self.size_bytes)

    def finish(self) -> None:
        """No append will follow: complete the time index and bring the index files up to date."""
        self.time_index.maybe_append(self.max_timestamp_ms, self.max_timestamp_offset)
        self.write_indexes()
        self._recent_offsets = array("q")
        self._recent_positions = array("q")

    def write_indexes(self) -> None:
        self.offset_index.write_out()
        self.time_index.write_out()
        if self._transaction_index is not None:
            self._transaction_index.write_out()

    # --- finding ----------------------------------------------------------------------------------

    def find(self, offset: int) -> BatchPlace | None:
        """The batch that holds ``offset``, or else the first one after it; None past the end."""
        recent = self._recent_offsets
        if recent and offset >= recent[0]:
            if offset >= self.next_offset:
                return None
            number = bisect_right(recent, offset) - 1
            position = self._recent_positions[number]
            return BatchPlace(recent[number], position, self._recent_end(number) - position)
        start = self.position_before(offset)
        for position, header in walk_headers(self.handle.open(), start, self.size_bytes):
            if header[0] + header[6] >= offset:
                if self._is_out_of_place(header):
                    raise DamagedLog(f"{self.path}: offset {header[0]} at byte {position}")
                return BatchPlace(header[0], position, header[1] + LENGTH_OVERHEAD)
        return None

    def position_before(self, offset: int) -> int:
        """A place at or before the batch that holds ``offset``, as the index has it.

        The batch found there must agree: a rotten index would hide records that are there.
        """
        relative, position = self.offset_index.entry_before(offset)
        if not position:
            return 0
        head = self.handle.open().read_at(position, HEADER_SIZE)
        if len(head) == HEADER_SIZE:
            header = HEADER.unpack(head)
            if header[3] == MAGIC and 0 <= header[0] - self.base_offset <= relative:
                return position
        self._rebuild_indexes()
        return self.offset_index.entry_before(offset)[1]

    def _recent_end(self, number: int) -> int:
        positions = self._recent_positions
        return positions[number + 1] if number + 1 < len(positions) else self.size_bytes

    def position_of_end(self, end_offset: int, start: int, max_bytes: int) -> int:
        """Where the batches below ``end_offset`` end, or any later point if it is out of reach.

        ``start`` and ``max_bytes`` say how far the caller will read at most.
        """
        if end_offset >= self.next_offset:
            return self.size_bytes
        recent = self._recent_offsets
        if recent and end_offset >= recent[0]:
            number = bisect_right(recent, end_offset - 1)
            return self._recent_positions[number] if number < len(recent) else self.size_bytes
        known = max(start, self.position_before(end_offset))
        if known >= start + max_bytes:
            return known
        end = known
        for position, header in self._sound_headers(known, self.size_bytes):
            if header[0] >= end_offset:
                return position
            end = position + header[1] + LENGTH_OVERHEAD
        return end

    def offset_bound(self, position: int, first_offset: int) -> int:
        """An offset above every batch that begins before ``position``, one of which has
        ``first_offset``: that of a batch behind them, or else the segment's end."""
        positions = self._recent_positions
        if positions and position <= positions[-1]:
            if position >= positions[0]:
                return self._recent_offsets[bisect_left(positions, position)]
        elif positions or position >= self.size_bytes:
            return self.next_offset
        entry = self.offset_index.entry_from(position)
        if entry is None:
            return self._recent_offsets[0] if positions else self.next_offset
        last_offset, place = entry
        head = self.handle.open().read_at(place, HEADER_SIZE) if place >= position else b""
        if len(head) == HEADER_SIZE:
            header = HEADER.unpack(head)
            # As in ``position_before``: with a rotten index, a transaction could be left out.
            if header[3] == MAGIC and first_offset < header[0] <= last_offset:
                return int(header[0])
        return self.next_offset

    def boundary_before(self, position: int, lowest: int) -> int:
        """The greatest known batch boundary at or before ``position``, and at ``lowest`` or after.

        Where none is known, ``position`` itself: readers skip a batch that is cut, and fetch it
        again. The index knows where most large batches begin, which are the ones that matter; if it
        is wrong, a batch is cut.
        """
        positions = self._recent_positions
        if positions and position >= positions[0]:
            boundary = positions[bisect_right(positions, position) - 1]
        else:
            boundary = self.offset_index.last_position_up_to(position)
        return boundary if boundary >= lowest else position

    # --- cutting and removing ---------------------------------------------------------------------

    def truncate_to(self, offset: int) -> None:
        """Drop every batch that holds ``offset`` or a later one."""
        place = self.find(offset)
        self.offset_index.truncate_to(offset)
        self.time_index.truncate_to(offset)
        self.transaction_index.truncate_to(offset)
        if place is not None:
            self.handle.open().truncate(place.position)
            self.size_bytes = place.position
            self.next_offset = place.base_offset
        self._recent_offsets = array("q")
        self._recent_positions = array("q")
        self.bytes_since_index = 0
        self.first_timestamp_ms = None
        self.find_max_timestamp()

    def find_max_timestamp(self) -> None:
        """The greatest timestamp: the time index has it, or a batch behind its last entry."""
        self.max_timestamp_ms, self.max_timestamp_offset = self.time_index.last()
        if not self.size_bytes:
            return
        position = self.position_before(self.max_timestamp_offset)
        for _, header in walk_headers(self.handle.open(), position, self.size_bytes):
            if header[8] > self.max_timestamp_ms:
                self.max_timestamp_ms = header[8]
                self.max_timestamp_offset = header[0] + header[6]

    def sync(self, sync_file: Callable[[DiskFile], None]) -> None:
        """All bytes of the segment and its indexes reach the medium."""
        if self.size_bytes:
            sync_file(self.handle.open())
        for index in (self._offset_index, self._time_index, self._transaction_index):
            if index is not None:
                index.sync(sync_file)

    def handles(self) -> list[FileHandle]:
        """Those of the files that were in use so far."""
        indexes = (self._offset_index, self._time_index, self._transaction_index)
        return [self.handle, *(index.handle for index in indexes if index is not None)]

    def retire(self) -> None:
        """Close the files as soon as no reader holds them."""
        for handle in self.handles():
            handle.retire()

    def existing_paths(self) -> list[str]:
        disk = self.files.disk
        paths = [
            segment_file(self.directory, self.base_offset, suffix) for suffix in SEGMENT_SUFFIXES
        ]
        return [path for path in paths if disk.exists(path)]
