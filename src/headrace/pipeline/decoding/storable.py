"""Types that Parquet, Delta and Iceberg all have, and the way from others to them.

Everything is nullable: a column that is added later is null in every row before it.
"""

from __future__ import annotations

import pyarrow as pa

MOMENT = pa.timestamp("us", "UTC")
UNSIGNED_64 = pa.decimal128(20, 0)

_PLAIN = {
    pa.null(): pa.string(),
    pa.int8(): pa.int32(),
    pa.int16(): pa.int32(),
    pa.uint8(): pa.int32(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): UNSIGNED_64,
    pa.large_string(): pa.string(),
    pa.large_binary(): pa.binary(),
    pa.float16(): pa.float32(),
}


def storable(kind: pa.DataType) -> pa.DataType:
    """The type that is written for ``kind``."""
    if kind in _PLAIN:
        return _PLAIN[kind]
    if pa.types.is_timestamp(kind):
        return MOMENT
    if pa.types.is_duration(kind) or pa.types.is_time(kind):
        return pa.int64()
    if pa.types.is_fixed_size_binary(kind):
        return pa.binary()
    if pa.types.is_dictionary(kind):
        return storable(kind.value_type)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(storable(kind.value_type))
    if pa.types.is_map(kind):
        return pa.map_(storable(kind.key_type), storable(kind.item_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(child.name, storable(child.type)) for child in kind])
    return kind


def storable_schema(schema: pa.Schema) -> pa.Schema:
    return pa.schema([pa.field(field.name, storable(field.type)) for field in schema])


def to_storable(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The same rows with ``schema``, which is the storable one of the batch's own."""
    arrays = [
        convert(column, field.type) for column, field in zip(batch.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def convert(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """A cast that also takes what Arrow casts only in two steps."""
    if column.type == kind:
        return column
    if pa.types.is_duration(column.type):
        return column.cast(pa.duration("us")).cast(pa.int64())
    if pa.types.is_time(column.type):
        return column.cast(pa.time64("us")).cast(pa.int64())
    return column.cast(kind)
