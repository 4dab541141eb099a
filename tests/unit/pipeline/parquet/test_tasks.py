"""How ranges are shared among tasks."""

from __future__ import annotations

import pytest

from headrace.pipeline.parquet.tasks import SAMPLE_RECORDS, samples_of, share_out
from headrace.pipeline.ranges import OffsetRange
from headrace.pipeline.tables.file_options import ROW_GROUP_ROWS

FILE = 10 * ROW_GROUP_ROWS


def ranges(*sizes: int) -> list[OffsetRange]:
    return [OffsetRange("t", number, 5, 5 + size) for number, size in enumerate(sizes)]


def sizes(tasks: list[tuple[OffsetRange, ...]]) -> list[int]:
    return [sum(one.end - one.start for one in task) for task in tasks]


@pytest.mark.parametrize(
    ("given", "slots", "shared"),
    [
        ((10, 20, 30), 4, [60]),
        ((ROW_GROUP_ROWS,), 4, [ROW_GROUP_ROWS]),
        ((4 * ROW_GROUP_ROWS,), 2, [2 * ROW_GROUP_ROWS] * 2),
        ((100 * ROW_GROUP_ROWS,), 2, [FILE] * 10),
        ((0, 7), 2, [7]),
        ((2 * ROW_GROUP_ROWS,) * 3, 2, [3 * ROW_GROUP_ROWS] * 2),
        ((22 * ROW_GROUP_ROWS,), 2, [11 * ROW_GROUP_ROWS // 2] * 4),
        ((ROW_GROUP_ROWS + 10,), 4, [ROW_GROUP_ROWS // 2 + 5] * 2),
        ((), 2, []),
    ],
)
def test_small_ranges_go_together_and_large_ones_apart(
    given: tuple[int, ...], slots: int, shared: list[int]
) -> None:
    tasks = share_out(ranges(*given), slots, FILE)
    assert sizes(tasks) == shared


def test_no_offset_is_lost_or_doubled() -> None:
    given = ranges(3, ROW_GROUP_ROWS * 7 + 1, 0, 50, ROW_GROUP_ROWS - 1)
    pieces = sorted(one for task in share_out(given, 3, FILE) for one in task)
    for one in given:
        position = one.start
        for piece in (each for each in pieces if each.partition == one.partition):
            assert piece.start == position
            position = piece.end
        assert position == one.end


def test_samples_are_the_beginning_of_each() -> None:
    assert samples_of(ranges(3, 10**6)) == [
        OffsetRange("t", 1, 5, 5 + SAMPLE_RECORDS),
        OffsetRange("t", 0, 5, 8),
    ]
