"""Batches for the tests of tables: files as a task writes them, and DuckDB to count the rows."""

from __future__ import annotations

from functools import cache

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from headrace.pipeline.ranges import OffsetRange
from headrace.pipeline.tables.schemas import PARKED_SCHEMA

TOPIC = "orders"
JOB = "orders-to-lake"
START_MS = 1_794_826_757_000  # 2026-11-16 10:59:17 UTC
HOUR_MS = 3_600_000
BATCH_OFFSETS = 10
PARTITIONS = (0, 1)

SCHEMA = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("value", pa.binary()),
    ]
)


def write_file(table, range_, *, timestamp_ms=START_MS, schema=SCHEMA, found=None):
    """As a task does it; columns beyond the usual ones are filled with the offset.

    ``found`` is the part of the range whose records have this time; the others are elsewhere.
    """
    new = table.layout.new_file(range_, table.layout.partition_values(timestamp_ms))
    rows = _rows(found or range_, timestamp_ms, schema)
    return table.layout.describe(new, _write(table, new, rows))


def write_parked(table, range_, reason="no JSON"):
    new = table.layout.new_parked_file(range_)
    count = range_.end - range_.start
    offsets = list(range(range_.start, range_.end))
    rows = pa.table(
        {
            **{
                name: pa.nulls(count, PARKED_SCHEMA.field(name).type)
                for name in PARKED_SCHEMA.names
            },
            "topic": [range_.topic] * count,
            "partition": pa.array([range_.partition] * count, pa.int32()),
            "offset": offsets,
            "last_offset": offsets,
            "reason": [reason] * count,
        }
    )
    return table.layout.describe(new, _write(table, new, rows.cast(PARKED_SCHEMA)))


def commit_batch(table, batch_id, *, job=JOB, schema=SCHEMA, parked=False, timestamp_ms=START_MS):
    """Ten offsets of each of two partitions."""
    ranges = ranges_of(batch_id)
    files = [write_file(table, each, schema=schema, timestamp_ms=timestamp_ms) for each in ranges]
    bad = [write_parked(table, each._replace(end=each.start + 1)) for each in ranges if parked]
    return table.commit(job, batch_id, files, bad, schema, positions_after(batch_id))


def ranges_of(batch_id):
    start = batch_id * BATCH_OFFSETS
    return [OffsetRange(TOPIC, each, start, start + BATCH_OFFSETS) for each in PARTITIONS]


def positions_after(batch_id):
    return {TOPIC: dict.fromkeys(PARTITIONS, (batch_id + 1) * BATCH_OFFSETS)}


def rows_of(batches):
    return batches * BATCH_OFFSETS * len(PARTITIONS)


@cache
def database():
    return duckdb.connect(config={"threads": 1})


def count(files):
    """All rows, and how many different offsets they have; both by DuckDB."""
    if not files:
        return 0, 0
    found = database().sql(
        f"""select count(*), count(distinct (partition, "offset"))
        from read_parquet({list(files)}, union_by_name=true)"""
    )
    return found.fetchall()[0]


def count_pattern(root):
    """The same for whoever knows no manifest."""
    names = database().sql(f"from glob('{root}/**/*.parquet')").fetchall()
    return count([name for (name,) in names])


def read(files, columns):
    found = database().sql(
        f"""select {columns} from read_parquet({list(files)}, union_by_name=true)
        order by partition, "offset" """
    )
    return found.fetchall()


def _rows(range_, timestamp_ms, schema):
    offsets = list(range(range_.start, range_.end))
    count = len(offsets)
    known = {
        "topic": [range_.topic] * count,
        "partition": [range_.partition] * count,
        "offset": offsets,
        "timestamp": [timestamp_ms * 1000] * count,
        "value": [str(each).encode() for each in offsets],
    }
    arrays = []
    for field in schema:
        is_usual = field in SCHEMA
        values = pa.array(known[field.name] if is_usual else offsets)
        arrays.append(values.cast(field.type))
    return pa.Table.from_arrays(arrays, schema=schema)


def _write(table, new, rows):
    collected = []
    with (
        table.layout.open(new) as sink,
        pq.ParquetWriter(sink, rows.schema, metadata_collector=collected) as writer,
    ):
        writer.write_table(rows)
    return collected[0]
