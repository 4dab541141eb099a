"""Columns of the kernel as the rows that Spark wants: the names, the order and exactly the types.

Spark refuses a batch whose Arrow schema differs from its own in any way, even in the name of a
list's items.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from headrace.pipeline.errors import UndecodableRecords
from headrace.pipeline.source.errors import UnsuitableColumns

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from headrace.pipeline.ranges import OffsetRange
    from headrace.records.columns import BadBatch, Columns

log = logging.getLogger(__name__)

HEADERS = StructField(
    "headers",
    ArrayType(StructType([StructField("key", StringType()), StructField("value", BinaryType())])),
)
SCHEMA = StructType(
    [
        StructField("key", BinaryType()),
        StructField("value", BinaryType()),
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("offset", LongType()),
        StructField("timestamp", TimestampType()),
        StructField("timestampType", IntegerType()),
    ]
)
SCHEMA_WITH_HEADERS = StructType([*SCHEMA.fields, HEADERS])

KERNEL_COLUMNS = {
    "key": "key",
    "value": "value",
    "offset": "offset",
    "timestamp": "timestamp",
    "timestampType": "timestamp_type",
    "headers": "headers",
}


def raise_if_unsuitable(schema: StructType) -> None:
    """A schema of the user is a choice of columns: fewer, or in another order."""
    offered = {field.name: field.dataType for field in SCHEMA_WITH_HEADERS.fields}
    for field in schema.fields:
        if offered.get(field.name) != field.dataType:
            columns = ", ".join(f"{name} {kind.simpleString()}" for name, kind in offered.items())
            raise UnsuitableColumns(
                f"there is no column {field.name} {field.dataType.simpleString()}; a schema may "
                f"have some of: {columns}"
            )


def kernel_columns(schema: StructType) -> tuple[str, ...]:
    """What must be decoded. Never nothing: somebody has to count the rows."""
    return tuple(
        KERNEL_COLUMNS[name] for name in schema.fieldNames() if name in KERNEL_COLUMNS
    ) or ("offset",)


def spark_batches(
    read: Iterable[Columns], part: OffsetRange, schema: StructType, *, fail_on_data_loss: bool
) -> Iterator[pa.RecordBatch]:
    """UndecodableRecords for a damaged batch; with ``fail_on_data_loss`` off it is passed over."""
    wanted = to_arrow_schema(schema, timezone="UTC")
    constants = _Constants(part)
    for columns in read:
        for bad in columns.bad:
            _report(bad, part, fail_on_data_loss)
        if columns.batch.num_rows:
            yield _spark_batch(columns.batch, wanted, constants)


def _report(bad: BadBatch, part: OffsetRange, fail_on_data_loss: bool) -> None:
    text = (
        f"offsets {bad.base_offset} to {bad.last_offset} of {part.address} cannot be decoded: "
        f"{bad.reason}"
    )
    if fail_on_data_loss:
        raise UndecodableRecords(f"{text}; with failOnDataLoss=false they are passed over")
    log.warning("%s; they are passed over", text)


class _Constants:
    """The columns that are the same in every row, kept from batch to batch."""

    def __init__(self, part: OffsetRange) -> None:
        self._scalars = {
            "topic": pa.scalar(part.topic, pa.string()),
            "partition": pa.scalar(part.partition, pa.int32()),
        }
        self._arrays: dict[str, pa.Array] = {}

    def column(self, name: str, rows: int) -> pa.Array:
        array = self._arrays.get(name)
        if array is None or len(array) < rows:
            array = self._arrays[name] = pa.repeat(self._scalars[name], rows)
        return array.slice(0, rows)


def _spark_batch(batch: pa.RecordBatch, wanted: pa.Schema, constants: _Constants) -> pa.RecordBatch:
    arrays = [
        batch.column(KERNEL_COLUMNS[name])
        if name in KERNEL_COLUMNS
        else constants.column(name, batch.num_rows)
        for name in wanted.names
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=wanted)
