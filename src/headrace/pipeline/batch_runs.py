"""An open segment as a row of runs of whole batches, each of bounded size, for the column decoder.

Only the frames are looked at here: where a batch begins and ends. What is wrong inside of a frame
is the decoder's to say; where there is no frame, the offset index or a right checksum tells where
the next one is, and what lies between is handed on as a bad batch. Of what lies after the end of
the range nothing is used but, to be sure that it is the end, one header: the rest may be half
written.
"""

from __future__ import annotations

from enum import Enum, auto
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from headrace.pipeline.errors import StorageUnreachable
from headrace.pipeline.segments import StartingPlace, plausible_base_offset, starting_place
from headrace.pipeline.storage_location import FileVanished
from headrace.records.columns import BadBatch
from headrace.records.header import (
    HEADER_SIZE,
    LENGTH_MIN,
    LENGTH_OVERHEAD,
    MAGIC,
    MAGIC_POSITION,
    crc_is_valid,
)

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
DOUBTFUL_BYTES_MAX = 4 * 1024 * 1024
"""Batches that contradict each other are kept together up to this size."""

SEARCHED_BYTES = 1024 * 1024
"""Where no batch begins, the next one is looked for in pieces of this size."""

_FRAME = Struct(">qiiBIhi")
"""Base offset, length, leader epoch, magic, checksum, attributes, last offset's distance."""


class Run(NamedTuple):
    """Whole batches; the first ones may lie before the offset that was asked for."""

    data: memoryview
    start: int
    next_offset: int
    lowest_offset: int
    """No batch of the run begins before this offset, unless it is damaged."""


class _Stop(Enum):
    WINDOW_ENDS = auto()
    RANGE_ENDS = auto()
    NO_FRAME = auto()


class Walk(NamedTuple):
    """How far whole batches reach."""

    size_bytes: int
    next_offset: int
    stop: _Stop
    window_bytes: int = 0
    """A window of this size would tell more."""
    following_offset: int = 0
    """Base offset of the batch that begins behind the range."""


def walk(window: memoryview, lowest_offset: int, end: int, *, is_rest: bool) -> Walk:
    """Whole batches of ``window``, up to the one that holds ``end`` - 1 or begins after it.

    A base offset has no checksum, and a wrong one must not hide records: only its neighbours can
    tell. So the batches end where the last two and the one behind them follow on each other; others
    are left for the next window, where all of them are in sight. ``is_rest``: there is none.
    """
    position, size, next_offset = 0, len(window), lowest_offset
    cut, cut_offset = 0, lowest_offset
    previous_end, is_rising = lowest_offset, True
    unpack = _FRAME.unpack_from
    while position + HEADER_SIZE <= size:
        base_offset, length, _, magic, _, _, distance = unpack(window, position)
        if magic != MAGIC or not LENGTH_MIN <= length <= BATCH_BYTES_MAX:
            return Walk(position, next_offset, _Stop.NO_FRAME)
        was_rising, is_rising = is_rising, base_offset >= previous_end
        if (is_rising and was_rising) or position - cut > DOUBTFUL_BYTES_MAX:
            cut, cut_offset = position, next_offset
        following = position + length + LENGTH_OVERHEAD
        if following + HEADER_SIZE > size and not is_rest:
            return Walk(cut, cut_offset, _Stop.WINDOW_ENDS, following + HEADER_SIZE)
        previous_end = max(base_offset, base_offset + distance + 1)
        if previous_end >= end and not _is_contradicted(window, following, previous_end):
            if base_offset >= end:
                return Walk(position, next_offset, _Stop.RANGE_ENDS, following_offset=base_offset)
            if following <= size:
                return Walk(following, end, _Stop.RANGE_ENDS, following_offset=previous_end)
        if following > size:
            break
        if previous_end < end:
            next_offset = previous_end
        position = following
    return Walk(position, next_offset, _Stop.WINDOW_ENDS, size + HEADER_SIZE)


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
        place = starting_place(segment, offset, FIRST_WINDOW_BYTES)
        self._position, self._lowest_offset = place.position, place.lowest_offset
        self._identity = self._file.identity
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
            is_rest = size_bytes >= left
            window = self._file.window(self._position, min(size_bytes, left))
            self._raise_if_replaced(window)
            found = walk(window, self._lowest_offset, self._end, is_rest=is_rest)
            if found.size_bytes:
                return self._take(window, found)
            if found.stop is _Stop.RANGE_ENDS:
                self._end_range(found)
            elif found.stop is _Stop.NO_FRAME or is_rest:
                bad = self._pass_damage(window, left, is_frame=found.stop is not _Stop.NO_FRAME)
                if bad is not None:
                    return bad
            size_bytes = max(size_bytes, found.window_bytes)
        return None

    def _take(self, window: memoryview, found: Walk) -> Run:
        start, lowest_offset = self.offset, self._lowest_offset
        self.offset = max(start, found.next_offset)
        self._lowest_offset = found.next_offset
        self._position += found.size_bytes
        self._has_walked = True
        if found.stop is _Stop.RANGE_ENDS:
            self._end_range(found)
        return Run(window[: found.size_bytes], start, self.offset, lowest_offset)

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

    def _pass_damage(
        self, window: memoryview, left_bytes: int, *, is_frame: bool
    ) -> BadBatch | None:
        """Go on behind it; None if no offset is lost that was asked for.

        ``is_frame``: a batch begins here, but is longer than all that is left.
        """
        if self._segment.next_base is None and not any(window[:HEADER_SIZE]):
            self._is_done = True  # Zeros to write into: the records are not here yet.
            return None
        damaged = bytes(window[:PARKED_BYTES_MAX])
        place = self._indexed_batch_behind() or self._sound_batch_behind()
        if place is None and is_frame:
            return self._finish(left_bytes)
        place = place or StartingPlace(self._position + left_bytes, self._end)
        damaged = damaged[: place.position - self._position]
        next_offset = min(place.lowest_offset, self._end)
        self._position, self._lowest_offset = place.position, next_offset
        if next_offset <= self.offset:
            return None
        bad = self._bad(next_offset, "there is no batch where one should begin", damaged)
        self.offset = next_offset
        self._is_done = next_offset >= self._end
        return bad

    def _indexed_batch_behind(self) -> StartingPlace | None:
        for last_offset, position in self._segment.entries.after_position(self._position):
            base_offset = plausible_base_offset(self._file.window(position, HEADER_SIZE))
            if base_offset is not None and self._lowest_offset < base_offset <= last_offset:
                return StartingPlace(position, base_offset)
        return None

    def _sound_batch_behind(self) -> StartingPlace | None:
        """The next batch whose checksum is right: the broker keeps the index of what it writes to
        in memory.
        """
        position = self._position + 1
        while position + HEADER_SIZE <= self._file.size_bytes:
            piece = bytes(self._file.window(position, SEARCHED_BYTES))
            magic_at = piece.find(MAGIC, MAGIC_POSITION)
            while magic_at >= 0:
                start = magic_at - MAGIC_POSITION
                base_offset = plausible_base_offset(piece[start : start + HEADER_SIZE])
                if base_offset is not None and self._is_sound(position + start, base_offset):
                    return StartingPlace(position + start, base_offset)
                magic_at = piece.find(MAGIC, magic_at + 1)
            position += len(piece) - HEADER_SIZE + 1
        return None

    def _is_sound(self, position: int, base_offset: int) -> bool:
        """Whether a whole batch begins there, and another one follows, or nothing.

        The second rules out the bytes of a batch that are the value of a record.
        """
        if not self._lowest_offset < base_offset <= self._end:
            return False
        length = _FRAME.unpack_from(self._file.window(position, HEADER_SIZE))[1]
        size_bytes = min(length, BATCH_BYTES_MAX) + LENGTH_OVERHEAD
        window = self._file.window(position, size_bytes + HEADER_SIZE)
        following = window[size_bytes:]
        following_offset = plausible_base_offset(following)
        is_followed = following_offset is not None and following_offset > base_offset
        return (is_followed or not any(following)) and crc_is_valid(window, 0, size_bytes)

    def _bad(self, next_offset: int, reason: str, data: bytes | memoryview) -> BadBatch:
        return BadBatch(self.offset, next_offset - 1, reason, bytes(data))

    def _raise_if_replaced(self, window: memoryview) -> None:
        """Of an object another version may be read now, with other batches at other places.

        Nothing is passed over if the batch at this place begins at the next offset or before it: so
        it is in a log that has grown, and may be in one that was compacted.
        """
        if self._file.identity == self._identity:
            return
        base_offset = plausible_base_offset(window[:HEADER_SIZE])
        if self._position and (base_offset is None or base_offset > self.offset):
            raise FileVanished(
                f"segment {self._segment.base_offset} was replaced while it was read"
            )
        self._identity = self._file.identity
        self._lowest_offset = self._segment.base_offset
