"""A Python source for Spark that does nothing: it yields Arrow batches that are there already.

They have the columns, the types and the sizes of those of `format("headrace")`, and records like
the bench's. Each worker builds them once, in its first task; nothing is read, unpacked or decoded.
"""

from __future__ import annotations

import random
from functools import lru_cache
from itertools import cycle, islice
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema

from bench.lake.batches import BATCHES, SEED, event_values, key
from bench.lake.shapes import SHAPES, Shape
from headrace.pipeline.read_settings import BATCH_BYTES_MAX, BATCH_ROWS_MAX
from headrace.pipeline.source.rows import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql.types import StructType

FORMAT = "bench-ready-batches"
FIRST_TIMESTAMP_US = 1_700_000_000_000_000
MILLISECOND_US = 1_000
BY_VALUE_BYTES = {shape.value_bytes: shape for shape in SHAPES}


class ReadyBatches(DataSource):
    """Options: `valueBytes` (of one of the shapes), `partitions`, `records` of all of these."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> StructType:
        return SCHEMA

    def reader(self, schema: StructType) -> DataSourceReader:
        shape = BY_VALUE_BYTES[int(self.options["valueBytes"])]
        partitions = int(self.options["partitions"])
        return ReadyReader(shape, partitions, int(self.options["records"]) // partitions)


class ReadyReader(DataSourceReader):
    """One task for each partition, as with every source of topics."""

    def __init__(self, shape: Shape, partitions: int, rows: int) -> None:
        self._shape = shape
        self._partitions = partitions
        self._rows = rows

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(number) for number in range(self._partitions)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        left = self._rows
        for batch in cycle(ready_batches(self._shape)):
            if not left:
                return
            piece = batch.slice(0, left)
            yield piece
            left -= piece.num_rows


@lru_cache(maxsize=len(SHAPES))
def ready_batches(shape: Shape) -> list[pa.RecordBatch]:
    """As many different records as the topics of the bench have, in batches of the source's size.

    The last batch is as large as the others: what Spark gets is no smaller than from a topic.
    """
    chance = random.Random(SEED)
    rows = BATCHES * shape.batch_records
    step = min(BATCH_ROWS_MAX, BATCH_BYTES_MAX // shape.record_bytes, rows)
    rows -= rows % step
    times = FIRST_TIMESTAMP_US + MILLISECOND_US * np.arange(rows, dtype=np.int64)
    columns = [
        pa.array([key(chance) for _ in range(rows)], pa.binary()),
        pa.array(islice(event_values(shape.value_bytes, chance), rows), pa.binary()),
        pa.repeat(pa.scalar("lake", pa.string()), rows),
        pa.repeat(pa.scalar(0, pa.int32()), rows),
        pa.array(np.arange(rows, dtype=np.int64)),
        pa.array(times).cast(pa.timestamp("us", "UTC")),
        pa.repeat(pa.scalar(0, pa.int32()), rows),
    ]
    whole = pa.RecordBatch.from_arrays(columns, schema=to_arrow_schema(SCHEMA, timezone="UTC"))
    return [whole.slice(first, step) for first in range(0, rows, step)]
