"""Rows of a table: the columns of the record itself, then those of its value."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import pyarrow as pa

from headrace.pipeline.decoding.names import RECORD_COLUMNS, column_of, field_of
from headrace.pipeline.tables.schemas import PARKED_SCHEMA

if TYPE_CHECKING:
    from headrace.pipeline.decoding.model import DecodedValues
    from headrace.pipeline.ranges import OffsetRange

HEADERS = "headers"
_RECORD_FIELDS = {
    "key": pa.binary(),
    "topic": pa.string(),
    "partition": pa.int32(),
    "offset": pa.int64(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_type": pa.int32(),
    HEADERS: PARKED_SCHEMA.field(HEADERS).type,
}
assert tuple(_RECORD_FIELDS) == RECORD_COLUMNS


def row_schema(values: pa.Schema, *, has_headers: bool) -> pa.Schema:
    """The columns of a table whose values have these fields."""
    record = [
        pa.field(name, kind)
        for name, kind in _RECORD_FIELDS.items()
        if has_headers or name != HEADERS
    ]
    return pa.schema([*record, *(pa.field(column_of(one.name), one.type) for one in values)])


def value_fields(table: pa.Schema | None) -> pa.Schema:
    """The way back: what the values of a table's rows have."""
    columns = [] if table is None else [one for one in table if one.name not in _RECORD_FIELDS]
    return pa.schema([pa.field(field_of(one.name), one.type) for one in columns])


def rows_of(
    records: pa.RecordBatch, decoded: DecodedValues, range_: OffsetRange, schema: pa.Schema
) -> pa.RecordBatch:
    """The rows of the records whose values are good."""
    if decoded.good is not None:
        records = records.take(decoded.good)
    own: dict[str, str | int] = {"topic": range_.topic, "partition": range_.partition}
    arrays = []
    for name in schema.names[: len(schema) - decoded.columns.num_columns]:
        if name in own:
            arrays.append(_repeated(own[name], _RECORD_FIELDS[name], records.num_rows))
        else:
            arrays.append(_cast(records.column(name), schema, name))
    return pa.RecordBatch.from_arrays([*arrays, *decoded.columns.columns], schema=schema)


def _repeated(value: str | int, kind: pa.DataType, count: int) -> pa.Array:
    """Part of an array that is kept: the next batch has the same topic and partition."""
    return _kept(value, kind, 1 << max(0, count - 1).bit_length()).slice(0, count)


@lru_cache(maxsize=4)
def _kept(value: str | int, kind: pa.DataType, count: int) -> pa.Array:
    return pa.repeat(pa.scalar(value, kind), count)


def _cast(column: pa.Array, schema: pa.Schema, name: str) -> pa.Array:
    kind = schema.field(name).type
    return column if column.type == kind else column.cast(kind)
