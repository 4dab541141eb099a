"""The records that are moved: how large, how many, how many in a batch of a producer.

Keys and values are counted as bytes of a record, before any compression; batches hold about 60 KB
of them, as those of a producer with a `batch.size` of 64 KiB do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

KEY_BYTES = 16
GIGABYTE = 1_000_000_000


@dataclass(frozen=True)
class Shape:
    """Records of one size."""

    name: str
    value_bytes: int
    batch_records: int
    records: int
    """Of a run at scale 1."""

    @property
    def record_bytes(self) -> int:
        return KEY_BYTES + self.value_bytes

    def count(self, wanted: float, partitions: int) -> int:
        """At least so many records: whole batches, and as many of them in each partition."""
        step = self.batch_records * partitions
        return max(1, -(-round(wanted) // step)) * step

    def count_of_gigabytes(self, gigabytes: float, partitions: int) -> int:
        return self.count(gigabytes * GIGABYTE / self.record_bytes, partitions)


SMALL = Shape("100 B", 100, 500, 10_000_000)
LARGE = Shape("1 KiB", 1_024, 50, 5_000_000)
SHAPES = (SMALL, LARGE)


class TopicContent(NamedTuple):
    """What a topic holds, and so what its Parquet files must hold."""

    topic: str
    partitions: int
    records: int
    shape: Shape

    @property
    def records_per_partition(self) -> int:
        return self.records // self.partitions

    @property
    def size_bytes(self) -> int:
        return self.records * self.shape.record_bytes
