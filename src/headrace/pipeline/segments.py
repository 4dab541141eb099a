"""Which files hold a range of offsets, where in them to begin, and which transactions were aborted.

The broker writes, replaces and removes files while they are read here, and no lock is shared. So a
look at the directory counts only if a second one, after the files were opened, shows the same: a
swap of compaction in between would show some records of the old files and some of the new.
"""

from __future__ import annotations

import struct
import time
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, NamedTuple

from headrace.pipeline.errors import StorageUnreachable
from headrace.pipeline.storage_location import FileVanished
from headrace.records.header import HEADER, HEADER_SIZE, LENGTH_MIN, MAGIC
from headrace.storage.file_names import (
    LOG_SUFFIX,
    OFFSET_INDEX_SUFFIX,
    PARTITION_METADATA,
    SWAP_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    offset_of,
)
from headrace.storage.metadata_files import uuid_from_text
from headrace.storage.offset_index import ENTRY as OFFSET_ENTRY
from headrace.storage.transaction_index import ENTRY as TRANSACTION_ENTRY
from headrace.storage.transaction_index import AbortedTransaction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.model.topic import TopicId, TopicPartition
    from headrace.pipeline.storage_location import SegmentFile, StorageLocation, StoredFile

LOOKS_MAX = 40
LOOK_PAUSE_SECONDS = 0.05
"""A swap takes milliseconds: two seconds of looking are plenty."""
INDEX_BYTES_MAX = 64 * 1024 * 1024
PARTITION_METADATA_BYTES_MAX = 4096

_SUFFIXES = (LOG_SUFFIX, OFFSET_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX, SWAP_SUFFIX)
_NAME_DIGITS = 20


class BelowFirstSegment(Exception):
    """The offset lies before all that is there; ``first_offset`` is where the files begin."""

    def __init__(self, first_offset: int) -> None:
        super().__init__(f"the first segment begins at {first_offset}")
        self.first_offset = first_offset


class StoredSegment(NamedTuple):
    """The files of one segment."""

    base_offset: int
    log: StoredFile
    has_offset_index: bool
    has_transaction_index: bool


class DirectoryView(NamedTuple):
    """A partition's directory at one moment."""

    segments: tuple[StoredSegment, ...]
    is_being_replaced: bool
    """Compaction is in the middle of a swap: some of the segments are not to be believed."""

    def number_holding(self, offset: int) -> int:
        """The last segment that does not begin after ``offset``."""
        number = bisect_right(self.segments, offset, key=_base_offset_of) - 1
        if number < 0:
            raise BelowFirstSegment(self.segments[0].base_offset)
        return number

    def is_same_from(self, number: int, other: DirectoryView) -> bool:
        """Whether nothing from that segment on was rolled, replaced or removed; it may grow."""
        ours = self.segments[number:]
        theirs = [s for s in other.segments if s.base_offset >= ours[0].base_offset]
        if other.is_being_replaced or [s.base_offset for s in theirs] != [
            s.base_offset for s in ours
        ]:
            return False
        # The last one is not compacted; in an object store its identity changes as it grows.
        return all(
            a.log.identity == b.log.identity for a, b in zip(ours[:-1], theirs, strict=False)
        )


class IndexedBatch(NamedTuple):
    """What an offset index tells about one batch."""

    lowest_offset: int
    """The batch does not begin before this one: here the batch of the entry before has ended."""
    last_offset: int
    position: int


class OffsetEntries:
    """An offset index as it lies in its file; zeros behind the last entry do not count."""

    def __init__(self, data: bytes, base_offset: int) -> None:
        self._data = data
        self._base_offset = base_offset
        self._count = -(-len(data.rstrip(b"\0")) // OFFSET_ENTRY.size)
        if self._count * OFFSET_ENTRY.size > len(data):
            self._count -= 1

    def __len__(self) -> int:
        return self._count

    def before(self, offset: int) -> IndexedBatch | None:
        """The last indexed batch that ends at ``offset`` or before it."""
        number = bisect_right(range(self._count), offset, key=lambda n: self._entry(n)[0]) - 1
        if number < 0:
            return None
        lowest_offset = self._entry(number - 1)[0] + 1 if number else self._base_offset
        return IndexedBatch(lowest_offset, *self._entry(number))

    def position_from(self, offset: int, otherwise: int) -> int:
        """Where the first batch begins that is known to reach ``offset`` or more."""
        number = bisect_left(range(self._count), offset, key=lambda n: self._entry(n)[0])
        return self._entry(number)[1] if number < self._count else otherwise

    def after_position(self, position: int) -> list[tuple[int, int]]:
        """All entries of batches that begin after ``position``."""
        number = bisect_right(range(self._count), position, key=lambda n: self._entry(n)[1])
        return [self._entry(each) for each in range(number, self._count)]

    def _entry(self, number: int) -> tuple[int, int]:
        relative, position = OFFSET_ENTRY.unpack_from(self._data, number * OFFSET_ENTRY.size)
        return self._base_offset + relative, position


class OpenSegment(NamedTuple):
    """A segment to read from, and all that is needed to do so."""

    base_offset: int
    next_base: int | None
    """Where the next segment begins; None if this is the one that is written to."""
    file: SegmentFile
    entries: OffsetEntries
    aborted: Sequence[AbortedTransaction]
    """In the order of their markers; those that may touch the range."""


class StoredPartition:
    """The directory of one partition."""

    def __init__(
        self, location: StorageLocation, address: TopicPartition, topic_id: TopicId
    ) -> None:
        self.location = location
        self.topic_id = topic_id
        self.directory = str(address)
        self.place = f"{location.url}/{self.directory}"

    def raise_if_foreign(self) -> None:
        """A topic that was deleted and made anew has another id, and other records."""
        try:
            data = self.location.read(
                f"{self.directory}/{PARTITION_METADATA}", PARTITION_METADATA_BYTES_MAX
            )
        except FileVanished as error:
            raise StorageUnreachable(f"{self.place} has no {PARTITION_METADATA}") from error
        if _topic_id_in(data, self.place) != self.topic_id:
            raise StorageUnreachable(f"{self.place} belongs to another topic of the same name")

    def look(self) -> DirectoryView:
        """What is there now."""
        return _directory_view(self.location.files(self.directory, _SUFFIXES))

    def open_at(self, offset: int, end: int, *, is_committed: bool) -> OpenSegment:
        """The segment to read ``offset`` from; BelowFirstSegment if it is gone."""
        for attempt in range(LOOKS_MAX):
            if attempt:
                time.sleep(LOOK_PAUSE_SECONDS)
            view = self.look()
            if view.is_being_replaced:
                continue
            if not view.segments:
                raise StorageUnreachable(f"{self.place} has no segments")
            number = view.number_holding(offset)
            try:
                opened = self._open(view, number, offset, end, is_committed)
            except FileVanished:
                continue
            if view.is_same_from(number, self.look()):
                return opened
            opened.file.close()
        raise StorageUnreachable(
            f"{self.place} kept changing for {LOOKS_MAX * LOOK_PAUSE_SECONDS:.0f} s"
        )

    def _open(
        self, view: DirectoryView, number: int, offset: int, end: int, is_committed: bool
    ) -> OpenSegment:
        segment = view.segments[number]
        following = view.segments[number + 1 : number + 2]
        next_base = following[0].base_offset if following else None
        range_end = end if next_base is None else min(end, next_base)
        file = self.location.open(f"{self.directory}/{segment.log.name}", segment.log.size_bytes)
        try:
            self.raise_if_foreign()  # of the directory that the open file was in
            entries = self._offset_entries(segment)
            aborted = (
                self._aborted(view.segments[number:], offset, range_end) if is_committed else ()
            )
        except BaseException:
            file.close()
            raise
        return OpenSegment(segment.base_offset, next_base, file, entries, aborted)

    def _offset_entries(self, segment: StoredSegment) -> OffsetEntries:
        if not segment.has_offset_index:
            return OffsetEntries(b"", segment.base_offset)
        path = f"{self.directory}/{segment.base_offset:020d}{OFFSET_INDEX_SUFFIX}"
        return OffsetEntries(self.location.read(path, INDEX_BYTES_MAX), segment.base_offset)

    def _aborted(
        self, segments: Sequence[StoredSegment], offset: int, end: int
    ) -> list[AbortedTransaction]:
        """Aborted transactions that touch ``[offset, end)``; markers may lie in later segments."""
        found: list[AbortedTransaction] = []
        for segment in segments:
            if not segment.has_transaction_index:
                continue
            entries = self._transaction_entries(segment)
            for entry in entries[bisect_left(entries, offset, key=_last_offset_of) :]:
                if entry.first_offset < end:
                    found.append(entry)
                if entry.last_stable_offset >= end:
                    return found
        return found

    def _transaction_entries(self, segment: StoredSegment) -> list[AbortedTransaction]:
        path = f"{self.directory}/{segment.base_offset:020d}{TRANSACTION_INDEX_SUFFIX}"
        data = self.location.read(path, INDEX_BYTES_MAX)
        whole = len(data) // TRANSACTION_ENTRY.size * TRANSACTION_ENTRY.size
        return [
            AbortedTransaction(*fields)
            for _, *fields in TRANSACTION_ENTRY.iter_unpack(data[:whole])
        ]


class StartingPlace(NamedTuple):
    """Where to begin in a segment, and the lowest offset that a batch there can have."""

    position: int
    lowest_offset: int


def starting_place(segment: OpenSegment, offset: int, window_bytes: int) -> StartingPlace:
    """A place at or before the batch that holds ``offset``.

    The batch found there must agree with the index, which may be rotten or of another version of
    the segment; if it does not, reading begins at the beginning. ``window_bytes``: how much to ask
    for where a look costs a request.
    """
    indexed = segment.entries.before(offset)
    if indexed is not None and indexed.position > 0:
        base_offset = plausible_base_offset(segment.file.window(indexed.position, window_bytes))
        if base_offset is not None and (
            indexed.lowest_offset <= base_offset <= indexed.last_offset
        ):
            return StartingPlace(indexed.position, indexed.lowest_offset)
    return StartingPlace(0, segment.base_offset)


def plausible_base_offset(head: bytes | memoryview) -> int | None:
    """The base offset in a batch's header; None if these bytes are no header."""
    if len(head) < HEADER_SIZE:
        return None
    try:
        header = HEADER.unpack_from(head)
    except struct.error:
        return None
    return header[0] if header[3] == MAGIC and header[1] >= LENGTH_MIN else None


def _directory_view(files: Sequence[StoredFile]) -> DirectoryView:
    names = {file.name for file in files}
    segments = [
        StoredSegment(
            base_offset,
            file,
            f"{base_offset:020d}{OFFSET_INDEX_SUFFIX}" in names,
            f"{base_offset:020d}{TRANSACTION_INDEX_SUFFIX}" in names,
        )
        for file in files
        if file.name[_NAME_DIGITS:] == LOG_SUFFIX
        and (base_offset := offset_of(file.name)) is not None
    ]
    return DirectoryView(
        tuple(sorted(segments, key=_base_offset_of)),
        any(name.endswith(LOG_SUFFIX + SWAP_SUFFIX) for name in names),
    )


def _topic_id_in(data: bytes, place: str) -> TopicId:
    lines = (line.partition(":") for line in data.decode(errors="replace").splitlines())
    values = {name.strip(): value.strip() for name, _, value in lines}
    try:
        return uuid_from_text(values["topic_id"])
    except (KeyError, ValueError) as error:
        raise StorageUnreachable(f"{place}/{PARTITION_METADATA}: no topic id in it") from error


def _base_offset_of(segment: StoredSegment) -> int:
    return segment.base_offset


def _last_offset_of(entry: AbortedTransaction) -> int:
    return entry.last_offset
