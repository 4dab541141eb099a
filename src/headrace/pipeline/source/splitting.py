"""How many tasks read a range: more than one if the options ask for it. Pure.

Without options there is one task per partition of the topic, as with Spark's Kafka source.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

from headrace.pipeline.ranges import OffsetRange
from headrace.pipeline.source.errors import InvalidSourceOption

if TYPE_CHECKING:
    from collections.abc import Sequence


TASKS_MAX = 1_000_000  # of one batch; Spark's driver would not survive many more


def split_ranges(
    ranges: Sequence[OffsetRange], partitions_min: int | None, records_max: int | None
) -> list[OffsetRange]:
    """The same offsets in at least ``partitions_min`` ranges (as far as there are offsets), each of
    at most ``records_max``. InvalidSourceOption if these would be too many for Spark.
    """
    filled = [part for part in ranges if not part.is_empty]
    counts = [_count(part, records_max) for part in filled]
    if max(sum(counts), partitions_min or 0) > TASKS_MAX:
        raise InvalidSourceOption(
            f"options minPartitions and maxRecordsPerPartition ask for more than {TASKS_MAX} tasks"
        )
    if partitions_min is not None and sum(counts) < partitions_min:
        _raise_counts(filled, counts, partitions_min)
    return [
        piece for part, count in zip(filled, counts, strict=True) for piece in _pieces(part, count)
    ]


def _count(part: OffsetRange, records_max: int | None) -> int:
    return 1 if records_max is None else -(-(part.end - part.start) // records_max)


def _raise_counts(ranges: Sequence[OffsetRange], counts: list[int], partitions_min: int) -> None:
    """First in proportion to the sizes, then one by one where the pieces are largest."""
    sizes = [part.end - part.start for part in ranges]
    total = sum(sizes)
    for index, size in enumerate(sizes):
        counts[index] = min(size, max(counts[index], size * partitions_min // total))
    heap = [
        (-size / counts[index], index) for index, size in enumerate(sizes) if size > counts[index]
    ]
    heapq.heapify(heap)
    missing = partitions_min - sum(counts)
    while missing > 0 and heap:
        _, index = heapq.heappop(heap)
        counts[index] += 1
        missing -= 1
        if sizes[index] > counts[index]:
            heapq.heappush(heap, (-sizes[index] / counts[index], index))


def _pieces(part: OffsetRange, count: int) -> list[OffsetRange]:
    size = part.end - part.start
    cuts = [part.start + size * index // count for index in range(count + 1)]
    return [
        OffsetRange(part.topic, part.partition, cuts[index], cuts[index + 1])
        for index in range(count)
    ]
