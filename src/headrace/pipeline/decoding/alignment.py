"""Rows of one schema as rows of another: a table's columns grow, writers' schemas come and go.

Columns are found by name. What the rows lack is null (or the default that the reader's schema
gives); what the table lacks is reported as new; what is of another type is converted where no value
changes, and else the row is bad.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from headrace.pipeline.decoding.model import NO_FIELDS, BadValue
from headrace.pipeline.decoding.names import same_but_for_case
from headrace.pipeline.errors import SchemaConflict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_FAMILIES = (
    ("a number", lambda kind: pa.types.is_integer(kind) or pa.types.is_floating(kind)),
    ("a decimal", pa.types.is_decimal),
    ("text", pa.types.is_string),
    ("binary", pa.types.is_binary),
    ("a boolean", pa.types.is_boolean),
    ("a moment", pa.types.is_temporal),
    ("a structure", pa.types.is_struct),
    ("a list", pa.types.is_list),
    ("a map", pa.types.is_map),
)


class Aligned(NamedTuple):
    columns: pa.RecordBatch
    """All rows, also the bad ones."""
    bad: list[BadValue]
    new_fields: pa.Schema


def align(
    batch: pa.RecordBatch, target: pa.Schema, defaults: Mapping[str, Any] | None = None
) -> Aligned:
    """The rows of ``batch`` with exactly the columns of ``target``."""
    twins = same_but_for_case([*target.names, *batch.schema.names])
    if twins is not None:
        return _all_bad(batch, target, f"fields {twins[0]!r} and {twins[1]!r} differ only in case")
    bad: list[BadValue] = []
    new_fields = [field for field in batch.schema if field.name not in target.names]
    arrays = []
    for field in target:
        index = batch.schema.get_field_index(field.name)
        if index < 0:
            arrays.append(_absent(field, batch.num_rows, defaults or {}))
            continue
        column = batch.column(index)
        wider = widened(field.type, column.type)
        if wider is not None and wider != field.type:
            new_fields.append(pa.field(field.name, wider))
        arrays.append(_fitted(column, field, bad))
    return Aligned(pa.RecordBatch.from_arrays(arrays, schema=target), bad, pa.schema(new_fields))


def _all_bad(batch: pa.RecordBatch, target: pa.Schema, reason: str) -> Aligned:
    arrays = [pa.nulls(batch.num_rows, field.type) for field in target]
    columns = pa.RecordBatch.from_arrays(arrays, schema=target)
    return Aligned(columns, [BadValue(row, reason) for row in range(batch.num_rows)], NO_FIELDS)


def merge_fields(schemas: Sequence[pa.Schema], *, keep_first: bool = False) -> pa.Schema:
    """The columns of all, in order of appearance; a structure has the fields of all.

    SchemaConflict if two of them cannot be one column, or, with ``keep_first``, the first of them;
    so with names that differ only in case.
    """
    merged: dict[str, pa.DataType] = {}
    spellings: dict[str, str] = {}
    for schema in schemas:
        for field in schema:
            if keep_first and spellings.setdefault(field.name.casefold(), field.name) != field.name:
                continue
            known = merged.get(field.name, field.type)
            wider = widened(known, field.type)
            if wider is None and not keep_first:
                raise SchemaConflict(
                    f"field {field.name} is {known} for some records and {field.type} for others"
                )
            merged[field.name] = known if wider is None else wider
    return pa.schema(list(merged.items()))


def widened(known: pa.DataType, found: pa.DataType) -> pa.DataType | None:
    """``known`` with the fields of structures that only ``found`` has; None: they do not fit.

    A type itself never changes: many readers would fail on the files that are there already.
    """
    if known == found:
        return known
    if pa.types.is_struct(known) and pa.types.is_struct(found):
        fields = {child.name: child.type for child in known}
        for child in found:
            wider = widened(fields.get(child.name, child.type), child.type)
            if wider is None:
                return None
            fields[child.name] = wider
        return pa.struct(list(fields.items()))
    if pa.types.is_list(known) and pa.types.is_list(found):
        wider = widened(known.value_type, found.value_type)
        return None if wider is None else pa.list_(wider)
    return known if _family(known) == _family(found) else None


def _family(kind: pa.DataType) -> str:
    return next((name for name, is_of in _FAMILIES if is_of(kind)), str(kind))


def _absent(field: pa.Field, rows: int, defaults: Mapping[str, Any]) -> pa.Array:
    if field.name not in defaults:
        return pa.nulls(rows, field.type)
    try:
        return pa.repeat(pa.scalar(defaults[field.name], field.type), rows)
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # a default in Avro's own notation
        return pa.nulls(rows, field.type)


def _fitted(column: pa.Array, field: pa.Field, bad: list[BadValue]) -> pa.Array:
    if column.type == field.type:
        return column
    if _family(column.type) != _family(field.type):
        return _fitted_singly(column, field, bad)
    try:
        return fit(column, field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # of one row at least: of which?
        return _fitted_singly(column, field, bad)


def fit(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """The same values as ``kind``; structures may get more fields."""
    if not pa.types.is_struct(kind) or not pa.types.is_struct(column.type):
        return column.cast(kind)
    inner = dict(zip((child.name for child in column.type), column.flatten(), strict=True))
    arrays = [
        fit(inner[child.name], child.type)
        if child.name in inner
        else pa.nulls(len(column), child.type)
        for child in kind
    ]
    return pa.StructArray.from_arrays(arrays, fields=list(kind), mask=column.is_null())


def _fitted_singly(column: pa.Array, field: pa.Field, bad: list[BadValue]) -> pa.Array:
    is_same_family = _family(column.type) == _family(field.type)
    pieces = []
    for index in range(len(column)):
        one = column.slice(index, 1)
        try:
            if one.null_count:
                pieces.append(pa.nulls(1, field.type))
            elif is_same_family:
                pieces.append(fit(pc.take(one, pa.array([0])), field.type))
            else:
                raise pa.ArrowInvalid("another family of types")
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            bad.append(
                BadValue(index, f"field {field.name} is {column.type}, the column {field.type}")
            )
            pieces.append(pa.nulls(1, field.type))
    return pa.concat_arrays(pieces) if pieces else pa.nulls(0, field.type)
