"""Whether Parquet files hold what the topic holds, as DuckDB counts it and not our own reader."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import duckdb

if TYPE_CHECKING:
    from bench.lake.shapes import TopicContent

PATTERN = "**/*.parquet"


class OutputWrong(RuntimeError):
    """Records are missing, there twice, or others: a rate of wrong records is no rate."""


class Output(NamedTuple):
    """What a run has written."""

    files: int
    size_bytes: int


def check_output(target: str, content: TopicContent) -> Output:
    """OutputWrong unless every offset of every partition is there once, with a whole value."""
    files = [path for path in Path(target).glob(PATTERN) if path.is_file()]
    found = offsets_in(target) if files else []
    count = content.records_per_partition
    size = content.shape.value_bytes
    expected = [
        (number, count, count, 0, count - 1, size, size) for number in range(content.partitions)
    ]
    if found != expected:
        raise OutputWrong(f"{content.topic} became {found} instead of {expected}")
    return Output(len(files), sum(path.stat().st_size for path in files))


def offsets_in(target: str) -> list[tuple[int, ...]]:
    """Partition, rows, different offsets, the lowest, the highest, shortest and longest value."""
    with duckdb.connect() as connection:
        connection.execute("SET enable_progress_bar = false")
        return connection.execute(
            """
            SELECT "partition", count(*), count(DISTINCT "offset"), min("offset"), max("offset"),
                   min(octet_length("value")), max(octet_length("value"))
            FROM read_parquet(?) GROUP BY "partition" ORDER BY "partition"
            """,
            [f"{target}/{PATTERN}"],
        ).fetchall()
