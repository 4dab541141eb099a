"""Rows apart by the hour or day of their timestamps: a file must not cross such a border."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from headrace.pipeline.parquet.calendar import MOMENT_US_MAX, MOMENT_US_MIN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

TIMESTAMP = "timestamp"
MICROSECONDS = 1_000
NO_TIME = np.iinfo(np.int64).min
"""The bucket of rows without a timestamp or with one that no calendar has, and of all rows where
there are no buckets."""


def split_by_time(
    batch: pa.RecordBatch, bucket_ms: int | None
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Each bucket once, with its rows in order. A bucket is the number of widths since 1970."""
    if bucket_ms is None or not batch.num_rows:
        yield NO_TIME, batch
        return
    buckets = _buckets(batch.column(TIMESTAMP), bucket_ms)
    if (buckets == buckets[0]).all():  # nearly always
        yield int(buckets[0]), batch
        return
    order = np.argsort(buckets, kind="stable")
    borders = np.flatnonzero(np.diff(buckets[order])) + 1
    for rows in np.split(order, borders):
        # Taken, not sliced: a few rows that wait must not hold on to the memory of all.
        yield int(buckets[rows[0]]), batch.take(pa.array(rows))


def bucket_start_ms(bucket: int, bucket_ms: int | None) -> int | None:
    """None: there is no time to tell."""
    return None if bucket_ms is None or bucket == NO_TIME else bucket * bucket_ms


def _buckets(timestamps: pa.Array, bucket_ms: int) -> NDArray[np.int64]:
    numbers = timestamps.cast(pa.int64())
    moments = (numbers.fill_null(NO_TIME) if numbers.null_count else numbers).to_numpy()
    buckets: NDArray[np.int64] = moments // (bucket_ms * MICROSECONDS)
    is_told = (moments >= MOMENT_US_MIN) & (moments <= MOMENT_US_MAX)
    return buckets if is_told.all() else np.where(is_told, buckets, NO_TIME)
