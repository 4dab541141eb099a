"""Bounds of columns: never narrower than the truth."""

from __future__ import annotations

import io
import json
from datetime import date

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.pipeline.tables.statistics import delta_statistics, timestamp_bounds_ms


def footer(row_group_size=None, **columns):
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink, row_group_size=row_group_size)
    return pq.read_metadata(sink)


def bounds(metadata):
    found = json.loads(delta_statistics(metadata))
    return {name: (found["minValues"][name], high) for name, high in found["maxValues"].items()}


def times(*microseconds):
    return pa.array(microseconds, pa.timestamp("us", "UTC"))


def test_bounds_go_over_all_row_groups():
    assert bounds(footer(2, a=[5, 1, 9, None, None, None, 7])) == {"a": (1, 9)}


def test_rows_and_nulls_are_counted():
    found = json.loads(delta_statistics(footer(a=[1, None], b=[b"x", b"y"], f=[1.0, 2.0])))
    assert (found["numRecords"], found["nullCount"]) == (2, {"a": 1, "b": 0, "f": 0})
    assert set(found["minValues"]) == {"a"}


def test_times_are_rounded_outwards_to_milliseconds():
    assert bounds(footer(t=times(1_001, 2_001))) == {
        "t": ("1970-01-01T00:00:00.001Z", "1970-01-01T00:00:00.003Z")
    }


def test_times_that_no_calendar_has_are_left_out():
    assert bounds(footer(t=times(0, 2**62))) == {}


def test_dates_and_texts_have_bounds_unless_they_are_long():
    assert bounds(footer(d=[date(2026, 1, 2)], s=["é"])) == {
        "d": ("2026-01-02", "2026-01-02"),
        "s": ("é", "é"),
    }
    assert bounds(footer(s=["a", "b" * 65])) == {}


def test_nested_columns_have_none():
    assert bounds(footer(a=[[1, 2]], s=[{"x": 1}])) == {}


def test_no_rows_have_no_bounds():
    assert bounds(footer(a=pa.array([], pa.int64()))) == {}


def test_the_time_of_the_records_is_known_in_milliseconds():
    assert timestamp_bounds_ms(footer(timestamp=times(1_999, 5_000))) == (1, 5)
    assert timestamp_bounds_ms(footer(timestamp=[1, 2])) == (None, None)
    assert timestamp_bounds_ms(footer(other=times(1))) == (None, None)
