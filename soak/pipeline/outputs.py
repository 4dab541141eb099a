"""What is in the output of a job, brought into DuckDB by readers that are not ours.

A plain table is a pattern for file names, a Delta table is read by DuckDB itself or listed by
``deltalake``, an Iceberg table is listed by ``pyiceberg``, a topic is read by librdkafka.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa

from soak.clients import as_bytes
from soak.whole_topic import read_whole

from .judging import OUTPUT
from .work import MARK, OUTPUT_PARTITIONS, TOPIC

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

ICEBERG_TABLE = "headrace.records"
ICEBERG_CATALOG = "headrace"
ICEBERG_CATALOG_FILE = "_headrace/catalog.db"

NAME = """concat("partition", '-', "offset")"""


def load_output(
    connection: DuckDBPyConnection, job: str, target: str, bootstrap_servers: str
) -> None:
    """Make the table that is judged, of whatever kind of output."""
    if job == TOPIC:
        load_topic(connection, bootstrap_servers, target)
    else:
        load_table(connection, table_source(connection, job, target))


def load_table(connection: DuckDBPyConnection, source: str) -> None:
    connection.execute(
        f"""
        CREATE TABLE {OUTPUT} AS
        SELECT "partition", "offset",
            key = encode({NAME}) AND value = encode({NAME}) AS is_right
        FROM {source}
        """
    )


def table_source(connection: DuckDBPyConnection, kind: str, target: str) -> str:
    """The table as DuckDB's SQL names it."""
    if kind == "plain":
        return parquet([f"{target}/**/*.parquet"])
    if kind == "delta":
        if has_extension(connection, "delta"):
            return f"delta_scan('{target}')"
        return parquet(delta_files(target))
    return parquet(iceberg_files(target))


def parquet(files: list[str]) -> str:
    return f"read_parquet({files}, union_by_name = true, hive_partitioning = false)"


def has_extension(connection: DuckDBPyConnection, name: str) -> bool:
    """Whether it is installed; it is not fetched."""
    try:
        connection.execute(f"LOAD {name}")
    except duckdb.Error:
        return False
    return True


def delta_files(target: str) -> list[str]:
    from deltalake import DeltaTable

    return [local(file) for file in DeltaTable(target).file_uris()]


def iceberg_files(target: str) -> list[str]:
    from pyiceberg.catalog import load_catalog

    uri = f"sqlite:///{target}/{ICEBERG_CATALOG_FILE}"
    catalog = load_catalog(ICEBERG_CATALOG, type="sql", uri=uri)
    try:
        table = catalog.load_table(ICEBERG_TABLE)
        return [local(task.file.file_path) for task in table.scan().plan_files()]
    finally:
        catalog.close()


def local(url: str) -> str:
    return url.removeprefix("file://")


def load_topic(connection: DuckDBPyConnection, bootstrap_servers: str, topic: str) -> None:
    """As a consumer of committed records is shown it; the key says which record it was made of."""
    keys, values = [], []
    for message in read_whole(bootstrap_servers, topic, OUTPUT_PARTITIONS):
        keys.append(as_bytes(message.key()))
        values.append(as_bytes(message.value()))
    columns = {"key": pa.array(keys, pa.binary()), "value": pa.array(values, pa.binary())}
    connection.register("messages", pa.table(columns))
    connection.execute(
        f"""
        CREATE TABLE {OUTPUT} AS
        SELECT TRY_CAST(split_part(decode(key), '-', 1) AS INTEGER) AS "partition",
            TRY_CAST(split_part(decode(key), '-', 2) AS BIGINT) AS "offset",
            value = encode('{MARK}' || decode(key)) AS is_right
        FROM messages
        """
    )
    connection.unregister("messages")
