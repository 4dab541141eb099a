"""What is in a table, as DuckDB counts it and not our own reader."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb

from headrace.pipeline.tables import open_table

if TYPE_CHECKING:
    from collections.abc import Sequence

KINDS = ("plain", "delta", "iceberg")


def files_of(kind: str, target: str) -> list[str]:
    with open_table(kind, target) as table:
        return [file.removeprefix("file://") for file in table.files()]


def parked_of(kind: str, target: str) -> list[str]:
    with open_table(kind, target) as table:
        return [file.removeprefix("file://") for file in table.parked_files()]


def query(files: Sequence[str], what: str, then: str = "") -> list[tuple[Any, ...]]:
    source = f"read_parquet({list(files)}, union_by_name = true)"
    return duckdb.sql(f"select {what} from {source} {then}").fetchall()


def assert_each_once(files: Sequence[str], counts: Sequence[int]) -> None:
    """Every offset of every partition, exactly once, and none that was never there."""
    found = query(
        files,
        '"partition", count(*), count(distinct "offset"), min("offset"), max("offset")',
        'group by "partition" order by "partition"',
    )
    assert found == [
        (partition, count, count, 0, count - 1) for partition, count in enumerate(counts) if count
    ]
