"""The lake's three tables, and how DuckDB sees them: as lists of Parquet files."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import duckdb

from headrace.pipeline.tables import open_table

if TYPE_CHECKING:
    from pathlib import Path


class LakeTable(NamedTuple):
    """One topic and the table that it is kept as."""

    topic: str
    format: str
    schema: str

    @property
    def view(self) -> str:
        return self.topic.replace("-", "_")


TABLES = (
    LakeTable("web-logs", "plain", "json"),
    LakeTable("metrics", "delta", "json-schema:metrics.schema.json"),
    LakeTable("user-events", "iceberg", "json"),
)


def connect(lake: Path) -> duckdb.DuckDBPyConnection:
    """A view per table, and ``parked`` with the bad records of all of them."""
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    parked = []
    for table in TABLES:
        opened = open_table(table.format, str(lake / table.topic))
        rows = connection.read_parquet(opened.files(), union_by_name=True)
        # Without the zone, which is UTC: plots and reports need none.
        rows.project("* REPLACE (timestamp::TIMESTAMP AS timestamp)").create_view(table.view)
        parked += opened.parked_files()
    if parked:
        connection.read_parquet(parked, union_by_name=True).create_view("parked")
    else:
        columns = """'' AS topic, 0 AS "partition", 0 AS "offset", '' AS reason"""
        connection.execute(f"CREATE VIEW parked AS SELECT {columns} WHERE false")
    return connection
