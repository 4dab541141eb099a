"""Rows apart by hour."""

from __future__ import annotations

import pyarrow as pa
import pytest

from headrace.pipeline.parquet.buckets import NO_TIME, bucket_start_ms, split_by_time

HOUR_MS = 3_600_000


def batch(*moments_ms: int | None) -> pa.RecordBatch:
    moments = [None if moment is None else moment * 1_000 for moment in moments_ms]
    return pa.RecordBatch.from_pydict(
        {
            "timestamp": pa.array(moments, pa.timestamp("us", "UTC")),
            "number": range(len(moments_ms)),
        }
    )


def split(records: pa.RecordBatch, width: int | None) -> dict[int, list[int]]:
    return {
        bucket: part.column("number").to_pylist() for bucket, part in split_by_time(records, width)
    }


@pytest.mark.parametrize(
    ("moments", "width", "found"),
    [
        ((0, 1, HOUR_MS - 1), HOUR_MS, {0: [0, 1, 2]}),
        ((0, HOUR_MS, 1, -1), HOUR_MS, {-1: [3], 0: [0, 2], 1: [1]}),
        ((0, None, 2), HOUR_MS, {NO_TIME: [1], 0: [0, 2]}),
        ((0, 10**15), None, {NO_TIME: [0, 1]}),
        ((0, 3 * 10**14, None, -(10**14), 4 * 10**14), HOUR_MS, {NO_TIME: [1, 2, 3, 4], 0: [0]}),
        ((), HOUR_MS, {NO_TIME: []}),
    ],
)
def test_each_bucket_once_in_order(
    moments: tuple[int | None, ...], width: int | None, found: dict[int, list[int]]
) -> None:
    assert split(batch(*moments), width) == found


def test_where_a_bucket_begins() -> None:
    assert bucket_start_ms(3, HOUR_MS) == 3 * HOUR_MS
    assert bucket_start_ms(NO_TIME, HOUR_MS) is None
    assert bucket_start_ms(3, None) is None
