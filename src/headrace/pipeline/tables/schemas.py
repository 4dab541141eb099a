"""Columns of tables: how they grow, and when they cannot.

A column, or a field of a struct, may be added; it is null in what was written before. A type never
changes, not even to a wider one: half of the readers would fail on the older files.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import pyarrow as pa

from headrace.pipeline.errors import SchemaConflict

if TYPE_CHECKING:
    from collections.abc import Sequence

_HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))

PARKED_SCHEMA = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("last_offset", pa.int64()),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("headers", _HEADERS),
        ("reason", pa.string()),
    ]
)
"""The side table for what could not be decoded: one record, or a batch up to ``last_offset``."""


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """Names and types alone: every column may be null, and metadata is nobody's business."""
    return pa.schema([pa.field(each.name, _plain_type(each.type)) for each in schema])


def merge_schemas(known: pa.Schema | None, added: pa.Schema, where: str) -> pa.Schema:
    """The known columns in their order, then the new ones."""
    _raise_if_ambiguous(added, where)
    added = plain_schema(added)
    if known is None:
        return added
    return pa.schema(_merge_fields(list(known), list(added), where))


def raise_if_reserved(schema: pa.Schema, columns: Sequence[str], where: str) -> None:
    """The columns that stand in the paths must not stand in the files too."""
    taken = {each.casefold() for each in columns}
    if clash := [name for name in schema.names if name.casefold() in taken]:
        raise SchemaConflict(
            f"{where} is partitioned by {', '.join(columns)}, and the records have "
            f"{', '.join(clash)} too; name the former otherwise (option partition.columns), "
            f"or do not partition"
        )


def conform(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The same rows with the columns of ``schema``: what is missing is null."""
    arrays = []
    for field in schema:
        index = batch.schema.get_field_index(field.name)
        if index < 0:
            arrays.append(pa.nulls(batch.num_rows, field.type))
        else:
            column = batch.column(index)
            arrays.append(column if column.type == field.type else column.cast(field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def schema_to_text(schema: pa.Schema) -> str:
    """Arrow's own encoding, so that nothing gets lost."""
    return base64.b64encode(schema.serialize().to_pybytes()).decode()


def schema_from_text(text: str) -> pa.Schema:
    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text)))


def _merge_fields(known: list[pa.Field], added: list[pa.Field], where: str) -> list[pa.Field]:
    result = {field.name: field for field in known}
    for field in added:
        older = result.get(field.name)
        type_ = field.type if older is None else _merge_types(older.type, field.type, field, where)
        result[field.name] = pa.field(field.name, type_)
    return list(result.values())


def _merge_types(
    known: pa.DataType, added: pa.DataType, field: pa.Field, where: str
) -> pa.DataType:
    if known == added or pa.types.is_null(added):
        return known
    if pa.types.is_struct(known) and pa.types.is_struct(added):
        return pa.struct(_merge_fields(list(known.fields), list(added.fields), where))
    if pa.types.is_list(known) and pa.types.is_list(added):
        return pa.list_(_merge_types(known.value_type, added.value_type, field, where))
    raise SchemaConflict(
        f"column {field.name!r} of {where} is {known}, and the records have {added}"
    )


def _plain_type(type_: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(type_):
        return pa.struct([pa.field(each.name, _plain_type(each.type)) for each in type_.fields])
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return pa.list_(_plain_type(type_.value_type))
    if pa.types.is_map(type_):
        return pa.map_(_plain_type(type_.key_type), _plain_type(type_.item_type))
    return _SAME_FOR_READERS.get(type_, type_)


_SAME_FOR_READERS = {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}
"""Arrow tells them apart, Parquet and its readers do not."""


def _raise_if_ambiguous(schema: pa.Schema, where: str) -> None:
    names = [name.casefold() for name in schema.names]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise SchemaConflict(
            f"columns {', '.join(twice)} come twice for {where}; most readers do not tell "
            f"capital letters from small ones"
        )
