"""Which of the two JSON decoders, and that they agree."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from headrace.model.errors import InvalidConfig
from headrace.pipeline.decoding.json_decoder import JsonDecoder
from headrace.pipeline.decoding.json_exact import ExactJsonDecoder
from headrace.pipeline.decoding.json_schema_decoder import json_schema_decoder
from headrace.pipeline.decoding.json_schema_types import shape_of

from .values import binary, good, reasons, rows

FLAT = {
    "type": "object",
    "properties": {
        "i": {"type": "integer", "minimum": 1},
        "f": {"type": "number"},
        "b": {"type": "boolean"},
        "t": {"type": "string"},
        "at": {"type": "string", "format": "date-time"},
        "inner": {"type": "object", "properties": {"q": {"type": "integer"}}, "required": ["q"]},
        "list": {"type": "array", "items": {"type": "integer"}},
        "any": {},
    },
    "required": ["i"],
}
NESTED = {
    "type": "object",
    "properties": {
        "lines": {
            "type": "array",
            "items": {"type": "object", "properties": {"q": {"type": "integer"}}},
        }
    },
}
VALUES: list[Any] = [
    {"i": 1, "f": 1, "b": True, "t": "x", "at": "2024-01-01T00:00:00Z"},
    {"i": 1, "inner": {"q": 1, "more": 1}, "list": [1, None], "any": {"a": [1]}, "extra": 1},
    {"i": 1, "any": "text"},
    {"i": None},
    {"i": "1"},
    {"i": True},
    {"i": 2**64},
    {"i": 1, "f": "x"},
    {"i": 1, "b": 0},
    {"i": 1, "t": 5},
    {"i": 1, "at": "nope"},
    {"i": 1, "inner": {}},
    {"i": 1, "inner": []},
    {"i": 1, "list": ["x"]},
    {"i": 1, "list": 5},
    [],
    None,
]


def test_both_decoders_give_the_same() -> None:
    values = binary(*(json.dumps(value).encode() for value in VALUES), b"{", b"\xff", None)
    fast = json_schema_decoder(json.dumps(FLAT))
    exact = ExactJsonDecoder(shape_of(json.dumps(FLAT)))
    assert isinstance(fast, JsonDecoder)
    one, other = fast.decode(values), exact.decode(values)
    assert rows(one) == rows(other)
    assert good(one) == good(other) == [0, 1, 2, 16, 19]
    assert reasons(one).keys() == reasons(other).keys()
    assert one.columns.schema == other.columns.schema


def test_objects_inside_arrays_are_columns_too() -> None:
    decoder = json_schema_decoder(json.dumps(NESTED))
    decoded = decoder.decode(binary(b'{"lines": [{"q": 1}, null]}', b'{"lines": [{"q": "x"}]}'))
    assert rows(decoded) == [{"lines": [{"q": 1}, None]}]
    assert reasons(decoded) == {1: "field lines.[].q is of type str, expected int64"}
    assert decoder.schema().field("lines").type == pa.list_(pa.struct([("q", pa.int64())]))


def test_moments_inside_objects() -> None:
    moment = {"type": "string", "format": "date-time"}
    inner = {"type": "object", "properties": {"at": moment}}
    decoder = json_schema_decoder(json.dumps({"type": "object", "properties": {"inner": inner}}))
    decoded = decoder.decode(
        binary(b'{"inner": {"at": "2024-01-01T00:00:00Z"}}', b'{"inner": {"at": "x"}}')
    )
    assert str(rows(decoded)[0]["inner"]["at"]) == "2024-01-01 00:00:00+00:00"
    assert reasons(decoded).keys() == {1}


def test_validation_is_of_the_whole_schema_where_asked_for() -> None:
    values = binary(b'{"i": 1}', b'{"i": 0}')
    assert good(json_schema_decoder(json.dumps(FLAT)).decode(values)) is None
    decoded = json_schema_decoder(json.dumps(FLAT), is_validated=True).decode(values)
    assert reasons(decoded) == {1: "$.i: 0 is less than the minimum of 1"}


def test_a_schema_that_is_none_is_refused_where_it_counts() -> None:
    text = json.dumps({"type": "object", "properties": {"i": {"type": "integer", "minimum": "x"}}})
    with pytest.raises(InvalidConfig, match="no usable JSON Schema"):
        json_schema_decoder(text, is_validated=True)


@pytest.mark.parametrize(
    "odd",
    [
        b'{"i": 1, "f": 1' + b"0" * 400 + b"}",
        b'{"i": 1, "f": 1e999}',
        b'{"i": 1, "f": -Infinity}',
        b'{"i": 1, "t": "\\ud800"}',
        b'{"i": 1, "any": "\\ud800"}',
        b'{"i": 1, "at": "0000-01-01T00:00:00Z x"}',
    ],
)
def test_what_no_column_can_hold_is_bad_and_harms_no_other_record(odd: bytes) -> None:
    values = binary(odd, b'{"i": 5}')
    for decoder in (
        json_schema_decoder(json.dumps(FLAT)),
        ExactJsonDecoder(shape_of(json.dumps(FLAT))),
    ):
        decoded = decoder.decode(values)
        assert good(decoded) == [1]
        assert reasons(decoded).keys() == {0}


def test_what_python_writes_for_no_number_is_one() -> None:
    values = binary(b'{"i": 1, "f": NaN}')
    for decoder in (
        json_schema_decoder(json.dumps(FLAT)),
        ExactJsonDecoder(shape_of(json.dumps(FLAT))),
    ):
        (row,) = rows(decoder.decode(values))
        assert row["f"] != row["f"]


def test_moments_that_python_cannot_tell_harm_no_other_record() -> None:
    moments = [b'{"i": 1, "at": "0000-01-01T00:00:00Z"}', b'{"i": 1, "at": "nope"}', b'{"i": 1}']
    decoded = json_schema_decoder(json.dumps(FLAT)).decode(binary(*moments))
    assert reasons(decoded).keys() in ({1}, {0, 1})
