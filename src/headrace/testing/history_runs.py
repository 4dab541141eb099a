"""Where the records of one producer stand in one partition: number to offset, in little memory.

A producer's records of one batch lie side by side, so number and offset go up together: such a run
costs three integers, however long it is. Numbers and offsets must be in the same order, which is
exactly what a log promises; a placement that breaks it is refused by name.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator


class Placed(Enum):
    """What became of ``Runs.place``; only NEW changes anything."""

    NEW = "it had no place before"
    KNOWN = "it has this very place already"
    ELSEWHERE = "it has another place already"
    OUT_OF_ORDER = "a neighbour in number is not a neighbour in offset"


class Run(NamedTuple):
    """Numbers ``number`` .. and offsets ``offset`` .., ``length`` of each."""

    number: int
    offset: int
    length: int


class Runs:
    """A mapping from number to offset that is strictly increasing in both."""

    __slots__ = ("_counts", "_numbers", "_offsets")

    def __init__(self) -> None:
        self._numbers = array("q")
        self._offsets = array("q")
        self._counts = array("q")

    def __len__(self) -> int:
        """How many numbers have a place."""
        return sum(self._counts)

    def __iter__(self) -> Iterator[Run]:
        return map(Run, self._numbers, self._offsets, self._counts)

    @property
    def end_offset(self) -> int:
        """The offset after the last placed record; 0 if there is none."""
        return self._end(len(self._numbers) - 1)[1] if self._numbers else 0

    @property
    def run_count(self) -> int:
        return len(self._numbers)

    def offset_of(self, number: int) -> int | None:
        at = bisect_right(self._numbers, number) - 1
        if at < 0:
            return None
        beyond = number - self._numbers[at]
        return self._offsets[at] + beyond if beyond < self._counts[at] else None

    def place(self, number: int, offset: int) -> Placed:
        at = bisect_right(self._numbers, number) - 1
        if at >= 0:
            beyond = number - self._numbers[at]
            if beyond < self._counts[at]:
                known = self._offsets[at] + beyond == offset
                return Placed.KNOWN if known else Placed.ELSEWHERE
            if offset < self._offsets[at] + self._counts[at]:
                return Placed.OUT_OF_ORDER
        following = at + 1
        if following < len(self._offsets) and offset >= self._offsets[following]:
            return Placed.OUT_OF_ORDER
        self._insert(following, number, offset)
        return Placed.NEW

    def _insert(self, at: int, number: int, offset: int) -> None:
        extends_previous = at > 0 and (number, offset) == self._end(at - 1)
        joins_next = at < len(self._numbers) and (number + 1, offset + 1) == (
            self._numbers[at],
            self._offsets[at],
        )
        if extends_previous and joins_next:
            self._counts[at - 1] += 1 + self._counts[at]
            self._delete(slice(at, at + 1))
        elif extends_previous:
            self._counts[at - 1] += 1
        elif joins_next:
            self._numbers[at], self._offsets[at] = number, offset
            self._counts[at] += 1
        else:
            self._numbers.insert(at, number)
            self._offsets.insert(at, offset)
            self._counts.insert(at, 1)

    def _end(self, at: int) -> tuple[int, int]:
        count = self._counts[at]
        return self._numbers[at] + count, self._offsets[at] + count

    def _delete(self, where: slice) -> None:
        for column in (self._numbers, self._offsets, self._counts):
            del column[where]

    def drop_below(self, offset: int) -> int:
        """Forget what stands before ``offset``; the number after the last forgotten, else 0."""
        whole = bisect_left(self._offsets, offset)
        if not whole:
            return 0
        last = whole - 1
        surplus = min(offset - self._offsets[last], self._counts[last])
        next_number = self._numbers[last] + surplus
        if surplus < self._counts[last]:
            self._numbers[last] += surplus
            self._offsets[last] += surplus
            self._counts[last] -= surplus
            whole -= 1
        self._delete(slice(0, whole))
        return next_number

    def missing(self, first: int, end: int) -> Iterator[int]:
        """The numbers in first .. end-1 that have no place."""
        number = first
        at = max(bisect_right(self._numbers, first) - 1, 0)
        while number < end and at < len(self._numbers):
            yield from range(number, min(self._numbers[at], end))
            number = max(number, self._end(at)[0])
            at += 1
        yield from range(number, end)

    def holds_offset(self, offset: int) -> bool:
        at = bisect_right(self._offsets, offset) - 1
        return at >= 0 and offset < self._end(at)[1]
