"""What the ceiling's source yields is what Spark gets from `format("headrace")`, ready made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import pytest
from pyspark.sql.pandas.types import to_arrow_schema

from bench.lake import ready_batches
from bench.lake.ready_batches import ReadyBatches, ReadyReader
from bench.lake.routes import (
    CONNECTOR,
    CONNECTOR_ON_KAFKA,
    PARQUET,
    READY,
    SOURCE,
)
from bench.lake.shapes import KEY_BYTES, LARGE, SMALL
from bench.lake.source_ceiling import Found, RowsMissing, raise_if_missing, routes_of, sheet
from headrace.pipeline.read_settings import BATCH_BYTES_MAX, BATCH_ROWS_MAX
from headrace.pipeline.source.rows import SCHEMA

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("shape", [SMALL, LARGE])
def test_batches_have_the_schema_and_the_size_of_the_source(shape):
    batches = ready_batches.ready_batches(shape)
    for batch in batches:
        assert batch.schema == to_arrow_schema(SCHEMA, timezone="UTC")
        assert batch.num_rows == batches[0].num_rows <= BATCH_ROWS_MAX
        assert batch.num_rows * shape.record_bytes <= BATCH_BYTES_MAX
    first = batches[0].slice(0, 1).to_pylist()[0]
    assert len(first["key"]) == KEY_BYTES
    assert len(first["value"]) == shape.value_bytes


def test_there_are_more_different_values_than_a_dictionary_of_parquet_holds():
    values = {
        one for batch in ready_batches.ready_batches(SMALL) for one in batch["value"].to_pylist()
    }
    assert sum(map(len, values)) > 4 * 1024 * 1024


def test_partitions_have_as_many_rows_as_were_asked_for_together():
    options = {"valueBytes": "100", "records": "300000", "partitions": "3"}
    reader = ReadyBatches(options).reader(SCHEMA)
    assert isinstance(reader, ReadyReader)
    rows = [
        sum(batch.num_rows for batch in reader.read(partition)) for partition in reader.partitions()
    ]
    assert rows == [100_000] * 3


def test_the_batches_are_built_once():
    assert ready_batches.ready_batches(SMALL) is ready_batches.ready_batches(SMALL)


def test_rows_that_are_not_there_have_no_rate(tmp_path: Path):
    with duckdb.connect() as connection:
        rows = connection.sql("SELECT range AS n FROM range(5)")
        rows.write_parquet(str(tmp_path / "a.parquet"))
        del rows
    raise_if_missing(tmp_path, 5)
    with pytest.raises(RowsMissing, match="5 rows instead of 6"):
        raise_if_missing(tmp_path, 6)


def test_ratios_are_to_the_best_run_of_any_connector():
    measured = [
        Found(CONNECTOR, SMALL.name, 100.0),
        Found(CONNECTOR_ON_KAFKA, SMALL.name, 200.0),
        Found(READY, SMALL.name, 300.0),
        Found(READY, SMALL.name, 500.0),
    ]
    cells = [list(column.cells) for column in sheet(measured).columns]
    assert cells[2] == ["100", "200", "500"]
    assert cells[3] == ["0.50", "1.00", "2.50"]


def test_what_cannot_be_had_is_left_out():
    assert routes_of(has_connector=False, has_kafka=False) == (SOURCE, READY, PARQUET)
    assert routes_of(has_connector=True, has_kafka=False)[0] == CONNECTOR
    assert routes_of(has_connector=True, has_kafka=True)[:2] == (CONNECTOR, CONNECTOR_ON_KAFKA)
