"""Avro: parsing, forms of the text, resolution of readers and writers."""

from __future__ import annotations

import json

import pytest

from headrace.schemas.errors import InvalidSchema
from headrace.schemas.kinds import parse
from headrace.schemas.model import Dependency, Kind


def record(*fields: dict[str, object], **more: object) -> str:
    return json.dumps({"type": "record", "name": "R", "fields": list(fields), **more})


def enum(*symbols: str) -> str:
    return json.dumps({"type": "enum", "name": "E", "symbols": symbols})


def fixed(size: int) -> str:
    return json.dumps({"type": "fixed", "name": "F", "size": size})


def problems(reader: str, writer: str) -> list[str]:
    return parse(Kind.AVRO, reader).problems_reading(parse(Kind.AVRO, writer))


A = {"name": "a", "type": "int"}


@pytest.mark.parametrize(
    ("reader", "writer"),
    [
        (record(A), record(A)),
        (record(), record(A)),
        (record(A, {"name": "b", "type": "int", "default": 0}), record(A)),
        (record({"name": "a", "type": "long"}), record(A)),
        (record({"name": "a", "type": ["null", "int"]}), record(A)),
        ('"double"', '"float"'),
        (enum("A", "B"), enum("A")),
    ],
)
def test_readable(reader: str, writer: str) -> None:
    assert problems(reader, writer) == []


@pytest.mark.parametrize(
    ("reader", "writer", "word"),
    [
        (record(A, {"name": "b", "type": "int"}), record(A), "reader_field_missing_default_value"),
        (record(A), record({"name": "a", "type": "long"}), "type_mismatch"),
        (record(A), record({"name": "a", "type": ["null", "int"]}), "type_mismatch"),
        (enum("A"), enum("A", "B"), "missing_enum_symbols"),
        (fixed(1), fixed(2), "fixed_size_mismatch"),
    ],
)
def test_unreadable(reader: str, writer: str, word: str) -> None:
    assert word in problems(reader, writer)[0]


@pytest.mark.parametrize(
    "text", ["{", '{"type":"record"}', "nonsense", "[" * 5_000, "42", '{"type":"Missing"}']
)
def test_broken(text: str) -> None:
    with pytest.raises(InvalidSchema):
        parse(Kind.AVRO, text)


def test_canonical_text_has_no_blanks_and_keeps_the_order() -> None:
    parsed = parse(Kind.AVRO, '{ "name": "R", "type": "record",\n "fields": [] }')
    assert parsed.canonical == '{"name":"R","type":"record","fields":[]}'


def test_normalized_text_is_one_for_equal_meanings() -> None:
    one = parse(
        Kind.AVRO, '{"type":"record","name":"R","fields":[{"type":{"type":"int"},"name":"a"}]}'
    )
    other = parse(
        Kind.AVRO, '{"fields":[{"name":"a","type":"int","aliases":[]}],"name":"R","type":"record"}'
    )
    assert one.normalized == other.normalized
    assert one.canonical != other.canonical


def test_dependency_is_found_by_its_name() -> None:
    user = record({"name": "inner", "type": "Inner"})
    inner = '{"type":"record","name":"Inner","fields":[]}'
    parsed = parse(Kind.AVRO, user, (Dependency("Inner", inner),))
    assert parsed.problems_reading(parsed) == []


def test_other_kind_is_unreadable() -> None:
    assert parse(Kind.AVRO, '"int"').problems_reading(parse(Kind.JSON, "{}")) != []
