from __future__ import annotations

import logging
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import LongType, StringType, StructField, StructType

from headrace.pipeline.errors import UndecodableRecords
from headrace.pipeline.ranges import OffsetRange
from headrace.pipeline.source.errors import UnsuitableColumns
from headrace.pipeline.source.rows import (
    SCHEMA,
    SCHEMA_WITH_HEADERS,
    kernel_columns,
    raise_if_unsuitable,
    spark_batches,
)
from headrace.records.columns import SCHEMA as KERNEL_SCHEMA
from headrace.records.columns import BadBatch, Columns

PART = OffsetRange("orders", 3, 10, 20)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def columns_of(*, bad=(), start=10):
    batch = pa.record_batch(
        {
            "key": [b"k", None],
            "value": [b"", b"v"],
            "offset": [start, start + 1],
            "timestamp": [NOON, NOON],
            "timestamp_type": [0, 1],
            "headers": [None, [{"key": "a", "value": None}]],
        },
        schema=KERNEL_SCHEMA,
    )
    return Columns(batch, list(bad), start + 2)


def converted(read, schema=SCHEMA_WITH_HEADERS, *, fail_on_data_loss=True):
    return list(spark_batches(read, PART, schema, fail_on_data_loss=fail_on_data_loss))


def test_the_schema_is_exactly_what_spark_wants():
    (batch,) = converted([columns_of()])
    assert batch.schema.equals(to_arrow_schema(SCHEMA_WITH_HEADERS, timezone="UTC"))
    batch.validate(full=True)


def test_the_names_and_the_constants():
    (batch,) = converted([columns_of()])
    assert batch.to_pylist()[1] == {
        "key": None,
        "value": b"v",
        "topic": "orders",
        "partition": 3,
        "offset": 11,
        "timestamp": NOON,
        "timestampType": 1,
        "headers": [{"key": "a", "value": None}],
    }


def test_a_record_without_headers_has_null():
    (batch,) = converted([columns_of()])
    assert batch.column("headers").to_pylist() == [None, [{"key": "a", "value": None}]]


def test_columns_that_are_slices_of_larger_ones():
    whole = columns_of()
    part = whole._replace(batch=whole.batch.slice(1, 1))
    (batch,) = converted([part])
    assert batch.column("headers").to_pylist() == [[{"key": "a", "value": None}]]
    assert batch.column("offset").to_pylist() == [11]


def test_only_the_columns_of_the_schema_in_its_order():
    schema = StructType([StructField("topic", StringType()), StructField("offset", LongType())])
    assert kernel_columns(schema) == ("offset",)
    (batch,) = converted([columns_of()], schema)
    assert batch.schema.names == ["topic", "offset"]


def test_something_is_decoded_even_if_no_column_needs_it():
    schema = StructType([StructField("topic", StringType())])
    assert kernel_columns(schema) == ("offset",)
    (batch,) = converted([columns_of()], schema)
    assert batch.to_pylist() == [{"topic": "orders"}] * 2


def test_constants_grow_with_the_batches():
    large = columns_of()
    small = large._replace(batch=large.batch.slice(0, 1))
    sizes = [batch.num_rows for batch in converted([small, large, small])]
    assert sizes == [1, 2, 1]


def test_batches_without_rows_are_left_out():
    empty = columns_of()
    assert converted([empty._replace(batch=empty.batch.slice(0, 0))]) == []


def test_a_damaged_batch_is_an_error_with_its_offsets():
    bad = BadBatch(12, 15, "checksum", b"")
    with pytest.raises(UndecodableRecords, match=r"offsets 12 to 15 of orders-3 .*: checksum"):
        converted([columns_of(bad=[bad])])


def test_or_a_warning_if_losses_are_allowed(caplog):
    bad = BadBatch(12, 15, "checksum", b"")
    with caplog.at_level(logging.WARNING):
        (batch,) = converted([columns_of(bad=[bad])], fail_on_data_loss=False)
    assert batch.num_rows == 2
    assert "offsets 12 to 15 of orders-3" in caplog.text


@pytest.mark.parametrize("schema", [SCHEMA, SCHEMA_WITH_HEADERS])
def test_our_own_columns_are_suitable(schema):
    raise_if_unsuitable(schema)
    assert len(kernel_columns(schema)) == len(schema) - 2  # topic and partition are constants


@pytest.mark.parametrize("field", [("colour", StringType()), ("offset", StringType())])
def test_other_columns_are_refused_with_a_list_of_ours(field):
    with pytest.raises(UnsuitableColumns, match="key binary, value binary, topic string"):
        raise_if_unsuitable(StructType([StructField(*field)]))
