"""From the rows of a data frame to the columns that records are made of.

The columns are those of Spark's Kafka sink: ``value``, and if wanted ``key``, ``topic``,
``partition`` and ``headers``; others are not looked at. Everything that can be said about all rows
of a batch is checked here by Arrow, before the first of them is handed to a producer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    CharType,
    IntegerType,
    StringType,
    StructType,
    VarcharType,
)

from headrace.pipeline.sink.errors import InvalidSinkRow, InvalidSinkSchema

if TYPE_CHECKING:
    from pyspark.sql.types import DataType

TEXT = (StringType, VarcharType, CharType)
TEXT_OR_BYTES = (*TEXT, BinaryType)
PARTITION_ANY = -1

HEADER = pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])
STAGED_SCHEMA = pa.schema(
    [
        # Few topics, many rows: the name is stored once.
        pa.field("topic", pa.dictionary(pa.int32(), pa.string())),
        pa.field("partition", pa.int32()),
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("headers", pa.list_(HEADER)),
    ]
)


def check_schema(schema: StructType, topic: str | None) -> None:
    """Raises ``InvalidSinkSchema`` if rows of this schema cannot become records."""
    types = {field.name: field.dataType for field in schema.fields}
    if "value" not in types:
        raise InvalidSinkSchema("there is no column 'value'")
    if topic is None and "topic" not in types:
        raise InvalidSinkSchema("no topic: give the option 'topic' or a column 'topic'")
    _raise_unless(types, "key", TEXT_OR_BYTES, "string or binary")
    _raise_unless(types, "value", TEXT_OR_BYTES, "string or binary")
    if topic is None:
        _raise_unless(types, "topic", TEXT, "string")
    _raise_unless(types, "partition", (IntegerType,), "int")
    if "headers" in types and not _is_headers(types["headers"]):
        raise InvalidSinkSchema(
            "column 'headers' is " + types["headers"].simpleString() + ","
            " but must be array<struct<key:string,value:binary>>"
        )


def _raise_unless(
    types: dict[str, DataType], name: str, allowed: tuple[type[DataType], ...], text: str
) -> None:
    found = types.get(name)
    if found is not None and not isinstance(found, allowed):
        raise InvalidSinkSchema(f"column '{name}' is {found.simpleString()}, but must be {text}")


def _is_headers(found: DataType) -> bool:
    if not isinstance(found, ArrayType) or not isinstance(found.elementType, StructType):
        return False
    fields = found.elementType.fields
    return (
        [field.name for field in fields] == ["key", "value"]
        and isinstance(fields[0].dataType, StringType)
        and isinstance(fields[1].dataType, BinaryType)
    )


def to_staged(batch: pa.RecordBatch, topic: str | None) -> pa.RecordBatch:
    """The batch in ``STAGED_SCHEMA``; the option ``topic`` is stronger than the column."""
    rows = batch.num_rows
    topics = (
        pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), rows), [topic])
        if topic is not None
        else _column(batch, "topic", pa.string()).dictionary_encode()
    )
    partitions = _column(batch, "partition", pa.int32())
    headers = _column(batch, "headers", pa.list_(HEADER))
    _raise_if_bad(topics, partitions, headers)
    return pa.RecordBatch.from_arrays(
        [
            topics,
            partitions,
            _column(batch, "key", pa.binary()),
            _column(batch, "value", pa.binary()),
            headers,
        ],
        schema=STAGED_SCHEMA,
    )


def _column(batch: pa.RecordBatch, name: str, kind: pa.DataType) -> pa.Array:
    index = batch.schema.get_field_index(name)
    if index < 0:
        return pa.nulls(batch.num_rows, kind)
    column = batch.column(index)
    return column if column.type == kind else column.cast(kind)


def _raise_if_bad(topics: pa.DictionaryArray, partitions: pa.Array, headers: pa.Array) -> None:
    if topics.null_count:
        raise InvalidSinkRow(
            f"{topics.null_count} rows have a null in column 'topic': fill it, or give the option"
            " 'topic' for all rows"
        )
    lowest = pc.min(partitions).as_py()
    if lowest is not None and lowest < 0:
        raise InvalidSinkRow(f"column 'partition' holds {lowest}; leave it null for any partition")
    if headers.null_count < len(headers):
        flat = headers.flatten()
        if flat.null_count or flat.field("key").null_count:
            raise InvalidSinkRow("column 'headers' holds a header without a key")


def topics_of(staged: pa.RecordBatch) -> dict[str, int]:
    """Each topic with the highest partition that is asked for, or ``PARTITION_ANY``."""
    topics = staged.column(0)
    table = pa.table(
        {
            "topic": topics.indices,
            "partition": pc.fill_null(staged.column(1), PARTITION_ANY),
        }
    )
    highest = table.group_by("topic").aggregate([("partition", "max")])
    names = topics.dictionary.take(highest["topic"].combine_chunks())
    return dict(zip(names.to_pylist(), highest["partition_max"].to_pylist(), strict=True))
