"""Which times a calendar has."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pyarrow as pa

from headrace.pipeline.parquet.calendar import (
    DAY_MAX,
    DAY_MIN,
    MOMENT_US_MAX,
    MOMENT_US_MIN,
    beyond_calendar,
    within_calendar,
)

MOMENTS = (0, MOMENT_US_MIN, MOMENT_US_MAX, None, MOMENT_US_MIN - 1, MOMENT_US_MAX + 1, 2**62)


def moments(*numbers: int | None) -> pa.Array:
    return pa.array(numbers, pa.int64()).cast(pa.timestamp("us", "UTC"))


def test_the_limits_are_those_of_pythons_calendar() -> None:
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    assert epoch + timedelta(microseconds=MOMENT_US_MIN) == datetime.min.replace(tzinfo=UTC)
    assert epoch + timedelta(microseconds=MOMENT_US_MAX) == datetime.max.replace(tzinfo=UTC)
    assert (date.min - epoch.date()).days == DAY_MIN
    assert (date.max - epoch.date()).days == DAY_MAX


def test_rows_beyond_have_one_reason() -> None:
    days = pa.array([0, DAY_MIN, DAY_MAX, DAY_MAX + 1, 0, DAY_MIN - 1, 0], pa.int32())
    rows = pa.RecordBatch.from_pydict(
        {"number": range(7), "timestamp": moments(*MOMENTS), "day": days.cast(pa.date32())}
    )
    found = beyond_calendar(rows)
    assert [one.index for one in found] == [3, 4, 5, 6]
    assert found[0].reason == (
        f"day is {DAY_MAX + 1} days since 1970, which is not in the years 1 to 9999"
    )
    assert found[2].reason.startswith("timestamp is")
    assert beyond_calendar(rows.slice(0, 3)) == []


def test_times_beyond_become_nulls() -> None:
    kept = within_calendar(moments(*MOMENTS)).cast(pa.int64()).to_pylist()
    assert kept == [0, MOMENT_US_MIN, MOMENT_US_MAX, None, None, None, None]
    fine = moments(0, None)
    assert within_calendar(fine) is fine
