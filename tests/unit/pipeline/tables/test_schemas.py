"""How columns grow, and when they cannot."""

from __future__ import annotations

import pyarrow as pa
import pytest

from headrace.pipeline.errors import SchemaConflict
from headrace.pipeline.tables.schemas import (
    PARKED_SCHEMA,
    conform,
    merge_schemas,
    plain_schema,
    raise_if_reserved,
    schema_from_text,
    schema_to_text,
)

SMALL = pa.schema([("a", pa.int64()), ("s", pa.struct([("x", pa.int64())]))])


def test_a_first_schema_is_taken_without_trimmings():
    given = pa.schema([pa.field("a", pa.large_string(), nullable=False, metadata={"k": "v"})])
    assert merge_schemas(None, given, "t").equals(
        pa.schema([("a", pa.string())]), check_metadata=True
    )


def test_new_columns_come_last_and_missing_ones_stay():
    merged = merge_schemas(SMALL, pa.schema([("b", pa.string()), ("a", pa.int64())]), "t")
    assert merged.names == ["a", "s", "b"]


def test_structs_and_lists_grow_inside():
    added = pa.schema(
        [
            ("s", pa.struct([("y", pa.string())])),
            ("l", pa.list_(pa.struct([("p", pa.int64())]))),
        ]
    )
    once = merge_schemas(SMALL, added, "t")
    assert once.field("s").type == pa.struct([("x", pa.int64()), ("y", pa.string())])
    more = pa.schema([("l", pa.list_(pa.struct([("q", pa.int64())])))])
    twice = merge_schemas(once, more, "t")
    assert twice.field("l").type.value_type == pa.struct([("p", pa.int64()), ("q", pa.int64())])


@pytest.mark.parametrize(
    "other",
    [
        ("a", pa.int32()),
        ("a", pa.string()),
        ("s", pa.int64()),
        ("s", pa.struct([("x", pa.string())])),
    ],
)
def test_types_never_change(other):
    with pytest.raises(SchemaConflict, match=r"the records have"):
        merge_schemas(SMALL, pa.schema([other]), "t")


def test_a_column_of_nulls_says_nothing_about_its_type():
    assert merge_schemas(SMALL, pa.schema([("a", pa.null())]), "t") == SMALL


def test_columns_that_differ_in_capitals_only_are_a_conflict():
    with pytest.raises(SchemaConflict, match="twice"):
        merge_schemas(None, pa.schema([("Id", pa.int64()), ("id", pa.int64())]), "t")


def test_partition_columns_are_reserved():
    raise_if_reserved(SMALL, ("date", "hour"), "t")
    with pytest.raises(SchemaConflict, match="Hour"):
        raise_if_reserved(pa.schema([("Hour", pa.int64())]), ("date", "hour"), "t")


def test_rows_get_the_columns_that_they_lack():
    wide = pa.schema([*merge_schemas(SMALL, pa.schema([("b", pa.string())]), "t")])
    wide = merge_schemas(wide, pa.schema([("s", pa.struct([("y", pa.string())]))]), "t")
    batch = pa.RecordBatch.from_pylist([{"a": 1, "s": {"x": 2}}], schema=SMALL)
    assert conform(batch, wide).to_pylist() == [{"a": 1, "s": {"x": 2, "y": None}, "b": None}]


def test_a_schema_survives_its_text():
    assert schema_from_text(schema_to_text(PARKED_SCHEMA)) == PARKED_SCHEMA
    assert plain_schema(PARKED_SCHEMA) == PARKED_SCHEMA
