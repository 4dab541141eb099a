"""Rows of one schema as rows of another."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from headrace.pipeline.decoding.alignment import align, merge_fields, widened
from headrace.pipeline.errors import SchemaConflict


def batch(**columns: pa.Array) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(columns)


def ints(*values: int | None, kind: pa.DataType | None = None) -> pa.Array:
    return pa.array(values, kind or pa.int64())


def test_missing_columns_are_null_or_the_default() -> None:
    target = pa.schema(
        [("b", pa.string()), ("a", pa.int64()), ("c", pa.int32()), ("d", pa.date32())]
    )
    aligned = align(batch(a=ints(1, 2)), target, {"c": 7, "d": {"odd": "default"}})
    assert aligned.columns.schema == target
    assert aligned.columns.to_pylist() == [
        {"b": None, "a": 1, "c": 7, "d": None},
        {"b": None, "a": 2, "c": 7, "d": None},
    ]
    assert aligned.bad == []


def test_more_columns_are_reported() -> None:
    aligned = align(batch(a=ints(1), b=ints(2)), pa.schema([("a", pa.int64())]))
    assert aligned.new_fields == pa.schema([("b", pa.int64())])


def test_numbers_are_converted_where_they_fit() -> None:
    target = pa.schema([("a", pa.int32())])
    aligned = align(batch(a=ints(1, 2**40, None)), target)
    assert aligned.columns.column("a").to_pylist() == [1, None, None]
    assert [one.index for one in aligned.bad] == [1]


def test_another_family_of_types_is_bad_row_by_row() -> None:
    target = pa.schema([("a", pa.int64())])
    aligned = align(batch(a=pa.array(["5", None])), target)
    assert [(one.index, one.reason) for one in aligned.bad] == [
        (0, "field a is string, the column int64")
    ]


def test_structures_grow() -> None:
    small, large = (
        pa.struct([("x", pa.int64())]),
        pa.struct([("x", pa.int64()), ("y", pa.string())]),
    )
    grown = align(batch(s=pa.array([{"x": 1}, None], small)), pa.schema([("s", large)]))
    assert grown.columns.to_pylist() == [{"s": {"x": 1, "y": None}}, {"s": None}]
    reported = align(batch(s=pa.array([{"x": 1, "y": "a"}], large)), pa.schema([("s", small)]))
    assert reported.new_fields == pa.schema([("s", large)])


@pytest.mark.parametrize(
    ("known", "found", "wider"),
    [
        (pa.int64(), pa.int32(), pa.int64()),
        (pa.int32(), pa.int64(), pa.int32()),
        (pa.int64(), pa.string(), None),
        (pa.list_(pa.int64()), pa.list_(pa.string()), None),
        (
            pa.list_(pa.struct([("a", pa.int64())])),
            pa.list_(pa.struct([("b", pa.int64())])),
            pa.list_(pa.struct([("a", pa.int64()), ("b", pa.int64())])),
        ),
        (pa.struct([("a", pa.int64())]), pa.struct([("a", pa.string())]), None),
    ],
)
def test_types_do_not_change(known: Any, found: Any, wider: Any) -> None:
    assert widened(known, found) == wider


def test_merging() -> None:
    one, other = pa.schema([("a", pa.int64())]), pa.schema([("b", pa.int64()), ("a", pa.int32())])
    assert merge_fields([one, other]) == pa.schema([("a", pa.int64()), ("b", pa.int64())])
    with pytest.raises(SchemaConflict, match="field a is int64 for some"):
        merge_fields([one, pa.schema([("a", pa.string())])])
