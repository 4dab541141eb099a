from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.pipeline.ranges import OffsetRange
from headrace.pipeline.source.errors import InvalidSourceOption
from headrace.pipeline.source.splitting import TASKS_MAX, split_ranges


def test_without_options_a_partition_is_one_task():
    ranges = [OffsetRange("t", 0, 0, 10), OffsetRange("t", 1, 5, 6)]
    assert split_ranges(ranges, None, None) == ranges


def test_empty_ranges_make_no_task():
    assert split_ranges([OffsetRange("t", 0, 5, 5)], 8, 1) == []


def test_no_range_is_longer_than_the_most_records():
    pieces = split_ranges([OffsetRange("t", 0, 100, 125)], None, 10)
    assert [(piece.start, piece.end) for piece in pieces] == [(100, 108), (108, 116), (116, 125)]


def test_at_least_so_many_tasks_the_most_where_the_most_is():
    pieces = split_ranges([OffsetRange("t", 0, 0, 900), OffsetRange("t", 1, 0, 100)], 10, None)
    assert [piece.partition for piece in pieces] == [0] * 9 + [1]


def test_more_tasks_than_offsets_are_not_made():
    assert len(split_ranges([OffsetRange("t", 0, 0, 3)], 100, None)) == 3


@pytest.mark.parametrize(("partitions_min", "records_max"), [(10**12, None), (None, 1)])
def test_more_tasks_than_spark_can_bear_are_refused(partitions_min, records_max):
    ranges = [OffsetRange("t", 0, 0, TASKS_MAX + 1)]
    with pytest.raises(InvalidSourceOption, match="ask for more than"):
        split_ranges(ranges, partitions_min, records_max)


maybe_count = st.none() | st.integers(1, 60)


@given(st.lists(st.integers(0, 1_000), max_size=8), maybe_count, maybe_count)
def test_every_offset_is_in_exactly_one_piece(sizes, partitions_min, records_max):
    ranges = [OffsetRange("t", number, 50, 50 + size) for number, size in enumerate(sizes)]
    pieces = split_ranges(ranges, partitions_min, records_max)
    for part in ranges:
        mine = [piece for piece in pieces if piece.partition == part.partition]
        cuts = [part.start, *(piece.end for piece in mine)]
        assert [piece.start for piece in mine] == cuts[:-1]
        assert cuts[-1] == part.end
    assert all(piece.end > piece.start for piece in pieces)
    if records_max is not None:
        assert all(piece.end - piece.start <= records_max for piece in pieces)
    if partitions_min is not None:
        assert len(pieces) >= min(partitions_min, sum(sizes))
