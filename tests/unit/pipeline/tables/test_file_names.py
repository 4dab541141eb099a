"""Names of data files: distinct for distinct contents, short enough, found by every reader."""

from __future__ import annotations

import pytest

from headrace.pipeline.ranges import OffsetRange
from headrace.pipeline.tables.file_names import (
    NO_VALUE,
    PARTITION_COLUMNS,
    calendar_values,
    data_file_name,
    without_token,
)

HOUR = {"date": "2026-11-16", "hour": "10"}
NAME_BYTES_MAX = 255


def test_one_run_of_offsets_is_in_the_name():
    name = data_file_name([OffsetRange("orders", 3, 4000, 5000)], HOUR)
    assert name == (
        "date=2026-11-16/hour=10/records-orders-3-00000000000000004000-00000000000000005000.parquet"
    )


def test_several_runs_have_a_name_of_their_own():
    one = [OffsetRange("orders", 3, 0, 5), OffsetRange("orders", 4, 0, 5)]
    other = [OffsetRange("orders", 3, 0, 5), OffsetRange("orders", 4, 0, 6)]
    assert data_file_name(one, HOUR) == data_file_name(list(one), HOUR)
    assert data_file_name(one, HOUR) != data_file_name(other, HOUR)
    assert "orders-2.ranges-" in data_file_name(one, HOUR)


def test_topics_of_several_kinds_have_a_name_together():
    ranges = [OffsetRange("orders", 0, 0, 5), OffsetRange("users", 0, 0, 5)]
    assert data_file_name(ranges, {}).startswith("records-2.topics-2.ranges-")


def test_no_name_is_hidden():
    assert data_file_name([OffsetRange("__hidden", 0, 0, 1)], {}).startswith("records-__hidden")


def test_long_topics_fit_and_stay_apart():
    names = {
        data_file_name([OffsetRange("t" * 240 + end, 2**31, 0, 2**63)], {}) for end in ("a", "b")
    }
    assert len(names) == 2
    assert all(len(name) + 20 < NAME_BYTES_MAX for name in names)


@pytest.mark.parametrize("suffix", ["parq", "parquet"])
def test_the_token_can_be_taken_off(suffix):
    name = data_file_name([OffsetRange("a-0123456789ab", 0, 0, 1)], HOUR)
    stem = name.removesuffix(".parquet")
    assert without_token(f"{stem}-0123456789ab.{suffix}") == name
    assert without_token(name) == name


@pytest.mark.parametrize(
    ("timestamp_ms", "date", "hour"),
    [
        (0, "1970-01-01", "0"),
        (-1, "1969-12-31", "23"),
        (1_794_826_757_123, "2026-11-16", "10"),
        (None, NO_VALUE, NO_VALUE),
        (2**62, NO_VALUE, NO_VALUE),
        (-(2**62), NO_VALUE, NO_VALUE),
        (253_402_300_800_000, NO_VALUE, NO_VALUE),
    ],
)
def test_times_have_a_date_and_an_hour_in_utc(timestamp_ms, date, hour):
    assert calendar_values(timestamp_ms, PARTITION_COLUMNS) == {"date": date, "hour": hour}


def test_partitions_by_date_or_by_nothing():
    assert calendar_values(0, ("day",)) == {"day": "1970-01-01"}
    assert calendar_values(0, ()) == {}
