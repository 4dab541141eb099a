"""Names of fields and of columns."""

from __future__ import annotations

import pytest

from headrace.pipeline.decoding.names import (
    column_of,
    field_of,
    is_column_name,
    same_but_for_case,
)


@pytest.mark.parametrize(
    ("field", "column"),
    [
        ("id", "id"),
        ("timestamp", "value_timestamp"),
        ("Timestamp", "value_Timestamp"),
        ("date", "value_date"),
        ("value_timestamp", "value_value_timestamp"),
        ("value_id", "value_id"),
        ("value", "value"),
        ("value_", "value_"),
    ],
)
def test_there_and_back(field: str, column: str) -> None:
    assert column_of(field) == column
    assert field_of(column) == field


@pytest.mark.parametrize("name", ["a", "a/b", "\u00fc", "x" * 255, "it's"])
def test_names_that_can_be_columns(name: str) -> None:
    assert is_column_name(name)


@pytest.mark.parametrize("name", ["", "a b", "a,b", "a;b", "{", "a=b", "a\tb", "a\x00b", "x" * 256])
def test_names_that_cannot(name: str) -> None:
    assert not is_column_name(name)


def test_twins() -> None:
    assert same_but_for_case(["a", "b", "A"]) == ("a", "A")
    assert same_but_for_case(["a", "b", "a"]) is None
