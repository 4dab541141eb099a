"""Walk a run of whole batches and account for every offset: covered, or parked with a reason.

A batch's base offset and length lie outside of its checksum. So what they claim is compared with
the neighbours: one wrong offset must not make good batches vanish.
"""

from __future__ import annotations

from typing import NamedTuple

from headrace.model.errors import CorruptRecord
from headrace.records.header import BatchHeader, raise_if_impossible, read_header

OFFSET_MAX = 2**63 - 1


class BadBatch(NamedTuple):
    """A batch that could not be decoded, and the offsets that may be lost with it.

    A reason that begins with "framing" says that no further batch could be found: ``data`` is then
    all that was left, or its first part if that is more than a batch may hold.
    """

    base_offset: int
    last_offset: int
    reason: str
    data: bytes


class BatchRun:
    """Stands at one batch of the run; ``take`` or ``park`` goes on to the next."""

    def __init__(
        self, view: memoryview, start: int, end: int, rest_bytes_max: int, lowest_offset: int
    ) -> None:
        self.position = 0
        self.next_offset = start
        self._view = view
        self._start = start
        self._end = end
        self._rest_bytes_max = rest_bytes_max
        self._seen_end = lowest_offset
        self._bad: dict[int, BadBatch] = {}
        self._ahead: tuple[int, BatchHeader | None] = (0, None)

    @property
    def bad(self) -> list[BadBatch]:
        """In the order of the run."""
        return [self._bad[position] for position in sorted(self._bad)]

    def find(self) -> BatchHeader | None:
        """The next batch that may hold offsets asked for; None at the end."""
        while self.position < len(self._view):
            position, ahead = self._ahead
            try:
                known = ahead if position == self.position else None
                header = known or self._header_at(self.position)
            except CorruptRecord as error:
                self._park_rest(f"framing: {error}")
                return None
            if self._is_out_of_order(header):
                self.park(header, "its offsets do not fit between those of its neighbours")
            elif header.base_offset >= self._end:
                self.next_offset = self._end
                return None
            else:
                return header
        return None

    def take(self, header: BatchHeader) -> None:
        """The batch is dealt with: read, or rightly left out."""
        self._go_on(header.size_bytes, max(header.base_offset, header.last_offset))

    def park(self, header: BatchHeader, reason: str) -> None:
        """The batch is bad, and its header may be so too: its neighbours say where it lies."""
        base_offset, last_offset = header.base_offset, header.last_offset
        end_offset = self._end_by_neighbour(header)
        is_impossible = base_offset < self._seen_end or last_offset > OFFSET_MAX
        if is_impossible or (end_offset is not None and base_offset >= end_offset):
            base_offset = last_offset = max(self._seen_end, self.next_offset)
        if end_offset is not None:
            last_offset = end_offset - 1
        last_offset = max(base_offset, last_offset)
        self._report(self.position, header.size_bytes, base_offset, last_offset, reason)
        self._go_on(header.size_bytes, last_offset)

    def park_taken(self, position: int, header: BatchHeader, reason: str) -> None:
        """A batch that was taken turned out to be bad; its header is right."""
        last_offset = max(header.base_offset, header.last_offset)
        self._report(position, header.size_bytes, header.base_offset, last_offset, reason)

    def _go_on(self, size_bytes: int, last_offset: int) -> None:
        self.position += size_bytes
        self._seen_end = max(self._seen_end, last_offset + 1)
        self.next_offset = min(max(self.next_offset, self._seen_end), self._end)

    def _park_rest(self, reason: str) -> None:
        """No batch begins here: its offsets are unknown, but for the first that is missing."""
        offset = max(self.next_offset, self._seen_end)
        size_bytes = min(len(self._view) - self.position, self._rest_bytes_max)
        self._report(self.position, size_bytes, offset, offset, reason)
        self.position = len(self._view)
        self.next_offset = min(offset + 1, self._end)

    def _report(
        self, position: int, size_bytes: int, base_offset: int, last_offset: int, reason: str
    ) -> None:
        if last_offset >= self._start and base_offset < self._end:
            data = bytes(self._view[position : position + size_bytes])
            self._bad[position] = BadBatch(base_offset, last_offset, reason, data)

    def _header_at(self, position: int) -> BatchHeader:
        header = read_header(self._view, position)
        raise_if_impossible(header, position)
        left = len(self._view) - position
        if header.size_bytes > left:
            raise CorruptRecord(f"batch claims {header.size_bytes} bytes, {left} are there")
        return header

    def _maybe_header_at(self, position: int) -> BatchHeader | None:
        try:
            return self._header_at(position) if position < len(self._view) else None
        except CorruptRecord:
            return None

    def _following(self, header: BatchHeader) -> BatchHeader | None:
        """The header after the one we stand at; kept, since it is asked for again."""
        position = self.position + header.size_bytes
        if self._ahead[0] != position:
            self._ahead = (position, self._maybe_header_at(position))
        return self._ahead[1]

    def _end_by_neighbour(self, header: BatchHeader) -> int | None:
        """Where the next batch begins, unless that is what is wrong."""
        following = self._following(header)
        if following is None or following.base_offset < self._seen_end:
            return None
        return following.base_offset

    def _is_out_of_order(self, header: BatchHeader) -> bool:
        """Whether the offsets of this batch are impossible, or its neighbours agree on that.

        Where only one follows, they agree if the batch would just fit between them.
        """
        if header.base_offset < self._seen_end or header.last_offset > OFFSET_MAX:
            return True
        following = self._following(header)
        if following is None or not self._seen_end <= following.base_offset <= header.last_offset:
            return False
        if header.base_offset >= self._end:
            return True  # To stop here would hide the next one.
        third = self._maybe_header_at(self._ahead[0] + following.size_bytes)
        if third is None:
            return following.base_offset - self._seen_end == header.last_offset_delta + 1
        return third.base_offset <= header.last_offset
