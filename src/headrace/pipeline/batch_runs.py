"""An open segment as a row of runs of whole batches, each of bounded size, for the column decoder.

Only the frames are looked at here: where a batch begins and ends. What is wrong inside of a frame
is the decoder's to say; where there is no frame, the offset index tells where the next one is, and
what lies between is handed on as a bad batch. Of what lies after the end of the range nothing is
used but, to be sure that it is the end, one header: the rest may be half written.
"""

from __future__ import annotations

from enum import Enum, auto
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from headrace.pipeline.errors import StorageUnreachable
from headrace.pipeline.segments import plausible_base_offset, start_position
from headrace.pipeline.storage_location import FileVanished
from headrace.records.columns import BadBatch
from headrace.records.header import HEADER_SIZE, LENGTH_MIN, LENGTH_OVERHEAD, MAGIC

if TYPE_CHECKING:
    from headrace.pipeline.segments import OpenSegment

FIRST_WINDOW_BYTES = 1024 * 1024
"""Read at first: it tells how well the batches are compressed."""
BATCH_BYTES_MAX = 128 * 1024 * 1024
"""A frame that claims more is not believed."""
PARKED_BYTES_MAX = 1024 * 1024
"""Most that is kept of bytes that are no batch."""
WINDOW_BYTES_MIN = 64 * 1024
"""So much is looked at behind the place where the index sees the end of the range."""

_FRAME = Struct(">qiiBIhi")
"""Base offset, length, leader epoch, magic, checksum, attributes, last offset's distance."""


class Run(NamedTuple):
    """Whole batches; the first ones may lie before the offset that was asked for."""

    data: memoryview
    start: int
    next_offset: int


class _Stop(Enum):
    WINDOW_ENDS = auto()
    RANGE_ENDS = auto()
    NO_FRAME = auto()


class Walk(NamedTuple):
    """How far whole batches reach."""

    size_bytes: int
    next_offset: int
    stop: _Stop
    following_bytes: int = HEADER_SIZE
    """Size of the batch that the window cuts off."""
    following_offset: int = 0
    """Base offset of the batch that begins behind the range."""


def walk(window: memoryview, offset: int, end: int, *, is_rest: bool) -> Walk:
    """Whole batches of ``window``, up to the one that holds ``end`` - 1 or begins after it.

    Offsets are not to be believed before the checksum is verified, and the base offset has none.
    So a batch that claims to be the last one must not be contradicted by the next; where that is
    out of sight, it is left for the next window. ``is_rest``: there is no next window.
    """
    position, size, next_offset = 0, len(window), offset
    unpack = _FRAME.unpack_from
    while position + HEADER_SIZE <= size:
        base_offset, length, _, magic, _, _, distance = unpack(window, position)
        if magic != MAGIC or not LENGTH_MIN <= length <= BATCH_BYTES_MAX:
            return Walk(position, next_offset, _Stop.NO_FRAME)
        following = position + length + LENGTH_OVERHEAD
        claimed_end = max(base_offset, base_offset + distance + 1)
        if claimed_end < end:
            next_offset = max(offset, claimed_end) if following <= size else next_offset
        elif position and following + HEADER_SIZE > size and not is_rest:
            return Walk(position, next_offset, _Stop.WINDOW_ENDS)
        elif not _is_contradicted(window, following, claimed_end):
            if base_offset >= end:
                return Walk(position, next_offset, _Stop.RANGE_ENDS, following_offset=base_offset)
            if following <= size:
                return Walk(following, end, _Stop.RANGE_ENDS, following_offset=claimed_end)
        if following > size:
            return Walk(position, next_offset, _Stop.WINDOW_ENDS, following - position)
        position = following
    return Walk(position, next_offset, _Stop.WINDOW_ENDS)


def _is_contradicted(window: memoryview, position: int, offset: int) -> bool:
    """Whether the batch at ``position`` begins before ``offset``."""
    base_offset = plausible_base_offset(window[position : position + HEADER_SIZE])
    return base_offset is not None and base_offset < offset


class RunReader:
    """Reads one segment from ``offset`` to ``end``, or to its own end."""

    def __init__(self, segment: OpenSegment, offset: int, end: int) -> None:
        self.offset = offset
        self._segment = segment
        self._file = segment.file
        self._end = end if segment.next_base is None else min(end, segment.next_base)
        self._expected_end = segment.entries.position_from(self._end, segment.file.size_bytes)
        self._file.read_ahead_to = self._expected_end + WINDOW_BYTES_MIN
        self._position = start_position(segment, offset, FIRST_WINDOW_BYTES)
        self._has_walked = False
        self._is_done = False

    def next_run(self, size_bytes: int) -> Run | BadBatch | None:
        """About ``size_bytes`` of batches, or a single larger one; None at the end."""
        expected_bytes = max(0, self._expected_end - self._position)
        size_bytes = min(size_bytes, expected_bytes + WINDOW_BYTES_MIN)
        while not self._is_done:
            left = self._file.size_bytes - self._position
            if left < HEADER_SIZE:
                return self._finish(left)
            window = self._file.window(self._position, min(size_bytes, left))
            self._raise_if_replaced(window)
            found = walk(window, self.offset, self._end, is_rest=size_bytes >= left)
            if found.size_bytes:
                return self._take(window, found)
            if found.stop is _Stop.RANGE_ENDS:
                self._end_range(found)
            elif found.stop is _Stop.NO_FRAME:
                return self._pass_damage(window, left)
            elif found.following_bytes > left:
                return self._finish(left)
            else:
                size_bytes = found.following_bytes
        return None

    def _take(self, window: memoryview, found: Walk) -> Run:
        run = Run(window[: found.size_bytes], self.offset, found.next_offset)
        self._position += found.size_bytes
        self._has_walked = True
        self.offset = found.next_offset
        if found.stop is _Stop.RANGE_ENDS:
            self._end_range(found)
        return run

    def _end_range(self, found: Walk) -> None:
        is_last = self._segment.next_base is None
        if is_last and self._has_walked and self.offset < min(self._end, found.following_offset):
            # Compaction leaves holes, but never in the segment that is written to.
            raise StorageUnreachable(
                f"offsets {self.offset} to {self._end - 1} are not where they should be:"
                f" a batch of offset {found.following_offset} follows"
            )
        self.offset = self._end
        self._is_done = True

    def _finish(self, left_bytes: int) -> BadBatch | None:
        """The file ends. A closed segment may have holes, but no rest."""
        self._is_done = True
        if self._segment.next_base is None:
            return None  # Who reads sees that ``offset`` is not at the end of the range.
        bad = None
        if left_bytes:
            rest = self._file.window(self._position, min(left_bytes, PARKED_BYTES_MAX))
            bad = self._bad(self._end, "the segment ends within a batch", rest)
        self.offset = self._end
        return bad

    def _pass_damage(self, window: memoryview, left_bytes: int) -> BadBatch | None:
        is_last = self._segment.next_base is None
        if is_last and not any(window[:HEADER_SIZE]):
            self._is_done = True  # Zeros to write into: the records are not here yet.
            return None
        damaged = bytes(window[:PARKED_BYTES_MAX])
        position, next_offset = self._position + left_bytes, self._end
        for _, candidate in self._segment.entries.after_position(self._position):
            if candidate + HEADER_SIZE > self._file.size_bytes:
                break
            head = self._file.window(candidate, HEADER_SIZE)
            base_offset = plausible_base_offset(head)
            if base_offset is not None and self.offset < base_offset <= self._end:
                damaged = damaged[: candidate - self._position]
                position, next_offset = candidate, base_offset
                break
        bad = self._bad(next_offset, "there is no batch where one should begin", damaged)
        self._position, self.offset = position, next_offset
        self._is_done = next_offset >= self._end
        return bad

    def _bad(self, next_offset: int, reason: str, data: bytes | memoryview) -> BadBatch:
        return BadBatch(self.offset, next_offset - 1, reason, bytes(data))

    def _raise_if_replaced(self, window: memoryview) -> None:
        """Of an object another version may be read now, with other batches at other places."""
        if self._file.identity == self._segment.log_identity or not self._has_walked:
            return
        base_offset = plausible_base_offset(window[:HEADER_SIZE])
        if base_offset is None or base_offset < self.offset:
            raise FileVanished(
                f"segment {self._segment.base_offset} was replaced while it was read"
            )
