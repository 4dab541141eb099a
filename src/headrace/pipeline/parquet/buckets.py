"""Rows apart by the hour or day of their timestamps: a file must not cross such a border."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

TIMESTAMP = "timestamp"
MICROSECONDS = 1_000
NO_TIME = np.iinfo(np.int64).min
"""The bucket of rows without a timestamp, and of all rows where there are no buckets."""


def split_by_time(
    batch: pa.RecordBatch, bucket_ms: int | None
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Each bucket once, with its rows in order. A bucket is the number of widths since 1970."""
    if bucket_ms is None or not batch.num_rows:
        yield NO_TIME, batch
        return
    buckets = _buckets(batch.column(TIMESTAMP), bucket_ms)
    borders = np.flatnonzero(np.diff(buckets)) + 1
    if not len(borders):  # nearly always
        yield int(buckets[0]), batch
        return
    for bucket in np.unique(buckets):
        yield int(bucket), batch.take(pa.array(np.flatnonzero(buckets == bucket)))


def bucket_start_ms(bucket: int, bucket_ms: int | None) -> int | None:
    """None: there is no time to tell."""
    return None if bucket_ms is None or bucket == NO_TIME else bucket * bucket_ms


def _buckets(timestamps: pa.Array, bucket_ms: int) -> NDArray[np.int64]:
    missing = timestamps.is_null().to_numpy(zero_copy_only=False) if timestamps.null_count else None
    moments = timestamps.cast(pa.int64()).fill_null(0).to_numpy()
    buckets: NDArray[np.int64] = moments // (bucket_ms * MICROSECONDS)
    if missing is not None:
        buckets = np.where(missing, NO_TIME, buckets)
    return buckets
