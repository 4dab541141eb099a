"""JSON objects as columns: what is wrong is found, record by record, and nothing is lost."""

from __future__ import annotations

import datetime

import pyarrow as pa
import pytest

from headrace.pipeline.decoding import json_decoder
from headrace.pipeline.decoding.json_decoder import JsonDecoder
from headrace.pipeline.decoding.json_shape import JsonShape, open_shape

from .values import binary, good, reasons, rows

FIELDS = pa.schema(
    [
        ("id", pa.int64()),
        ("name", pa.string()),
        ("amount", pa.float64()),
        ("ok", pa.bool_()),
        ("numbers", pa.list_(pa.int64())),
    ]
)


@pytest.fixture(scope="module")
def decoder() -> JsonDecoder:
    return JsonDecoder(open_shape(FIELDS))


def test_all_types_and_what_is_missing(decoder: JsonDecoder) -> None:
    decoded = decoder.decode(
        binary(
            b'{"id": 1, "name": "a", "amount": 1.5, "ok": true, "numbers": [1, null]}',
            b' {"id":\n 2} ',
            b"null",
            None,
        )
    )
    nothing = dict.fromkeys(FIELDS.names)
    assert good(decoded) is None
    assert rows(decoded) == [
        {"id": 1, "name": "a", "amount": 1.5, "ok": True, "numbers": [1, None]},
        {**nothing, "id": 2},
        nothing,
        nothing,
    ]
    assert decoded.columns.schema == FIELDS


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"{bad", "no JSON: Expecting property name enclosed in double quotes"),
        (b"", "no JSON: Expecting value"),
        (b'{"id": 1} {"id": 2}', "no JSON: Extra data"),
        (b"[1]", "expected a JSON object, found array"),
        (b'"text"', "expected a JSON object, found varchar"),
        (b"\xff\xfe", "no UTF-8: invalid start byte at byte 0"),
        (b'{"id": "x"}', "field id is a text, expected int64"),
        (b'{"id": "5"}', "field id is a text, expected int64"),
        (b'{"id": 2.5}', "field id is a number, expected int64"),
        (b'{"id": true}', "field id is a boolean, expected int64"),
        (b'{"id": 18446744073709551615}', "field id: the value is out of range"),
        (b'{"id": 99999999999999999999}', "field id is a number, expected int64"),
        (b'{"ok": 1}', "field ok is an integer, expected bool"),
        (b'{"numbers": 5}', "field numbers is an integer, expected list<item: int64>"),
        (b'{"numbers": [1, "x"]}', "field numbers has a text, expected int64"),
        (b'{"numbers": [18446744073709551615]}', "field numbers: an element is out of range"),
        (b'{"ID": 1}', "fields 'id' and 'ID' differ only in case"),
        (b'{"a b": 1}', "field 'a b' cannot be a column"),
        (b'{"": 1}', "field '' cannot be a column"),
    ],
)
def test_a_bad_record_is_found_alone(decoder: JsonDecoder, value: bytes, reason: str) -> None:
    decoded = decoder.decode(binary(b'{"id": 1}', value, b'{"id": 3}'))
    assert good(decoded) == [0, 2]
    assert [row["id"] for row in rows(decoded)] == [1, 3]
    assert reasons(decoded)[1].startswith(reason)


def test_text_takes_any_json_as_it_is_written(decoder: JsonDecoder) -> None:
    decoded = decoder.decode(binary(b'{"name": 7}', b'{"name": {"x": [1]}}', b'{"name": [true]}'))
    assert [row["name"] for row in rows(decoded)] == ["7", '{"x":[1]}', "[true]"]


def test_numbers_take_integers(decoder: JsonDecoder) -> None:
    assert rows(decoder.decode(binary(b'{"amount": 3}')))[0]["amount"] == 3.0


def test_new_fields_are_reported_with_their_types() -> None:
    decoder = JsonDecoder(open_shape(pa.schema([])))
    decoded = decoder.decode(
        binary(
            b'{"i": 1, "f": 1, "b": true, "t": "x", "o": {"q": 1}, "n": null, "l": [1], "e": []}',
            b'{"i": -2, "f": 1.5, "b": null, "t": 5, "mixed": 1, "l": [2.5], "lo": [{"a": 1}]}',
            b'{"mixed": "x", "lt": ["a"], "a/b": 1, "~": 2}',
            b"{bad",
        )
    )
    assert decoded.columns.num_rows == 3
    assert good(decoded) == [0, 1, 2]
    assert decoded.new_fields == pa.schema(
        [
            ("i", pa.int64()),
            ("f", pa.float64()),
            ("b", pa.bool_()),
            ("t", pa.string()),
            ("o", pa.string()),
            ("l", pa.list_(pa.float64())),
            ("mixed", pa.string()),
            ("lo", pa.string()),
            ("lt", pa.list_(pa.string())),
            ("a/b", pa.int64()),
            ("~", pa.int64()),
        ]
    )


def test_a_new_field_that_is_rare_is_not_passed_over() -> None:
    values = [b'{"x": null}'] * 5_000 + [b'{"x": 1}']
    decoded = JsonDecoder(open_shape(pa.schema([]))).decode(binary(*values))
    assert decoded.new_fields == pa.schema([("x", pa.int64())])


def test_names_with_odd_characters_are_found_again() -> None:
    fields = pa.schema([("a/b", pa.int64()), ("~", pa.int64()), ("it's", pa.string())])
    decoded = JsonDecoder(open_shape(fields)).decode(binary(b'{"a/b": 1, "~": 2, "it\'s": "x"}'))
    assert rows(decoded) == [{"a/b": 1, "~": 2, "it's": "x"}]
    assert not decoded.new_fields


def test_names_that_are_data_cost_no_more_than_others() -> None:
    many = b"{" + b",".join(b'"k%d": 1' % number for number in range(20_000)) + b"}"
    decoded = JsonDecoder(open_shape(pa.schema([]))).decode(binary(many, b'{"k1": 2}'))
    assert good(decoded) == [1]
    assert reasons(decoded)[0] == "field 'k2000' is new, and there are 2000 fields already"
    assert decoded.new_fields == pa.schema([("k1", pa.int64())])


def test_deeply_nested_values_do_no_harm(decoder: JsonDecoder) -> None:
    deep = b'{"name":' + b'{"a":' * 50_000 + b"1" + b"}" * 50_001
    decoded = decoder.decode(binary(deep, b'{"id": 2}'))
    assert rows(decoded)[-1]["id"] == 2


CLOSED = JsonShape(
    pa.schema(
        [
            ("at", pa.timestamp("us", "UTC")),
            ("day", pa.date32()),
            ("inner", pa.struct([("q", pa.int64()), ("n", pa.string())])),
            ("i", pa.int32()),
            ("any", pa.string()),
        ]
    ),
    required=frozenset([("i",), ("inner", "q")]),
    any_texts=frozenset([("any",)]),
)


def test_a_closed_shape_leaves_out_what_it_does_not_have() -> None:
    decoded = JsonDecoder(CLOSED).decode(
        binary(
            b'{"at": "2024-01-01T00:00:00.5+02:00", "day": "2024-02-03", "i": 1, "extra": 1,'
            b' "inner": {"q": 1, "n": "x", "more": 2}, "any": [1]}',
            b'{"i": 1}',
        )
    )
    first, second = rows(decoded)
    assert first["at"] == datetime.datetime(2023, 12, 31, 22, 0, 0, 500_000, datetime.UTC)
    assert first["day"] == datetime.date(2024, 2, 3)
    assert first["inner"] == {"q": 1, "n": "x"}
    assert first["any"] == "[1]"
    assert second["inner"] is None
    assert not decoded.new_fields


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b'{"at": "nope", "i": 1}', "field at: 'nope' is no timestamp[us, tz=UTC]"),
        (b'{"inner": 5, "i": 1}', "field inner is an integer, expected struct"),
        (b'{"inner": {"q": "x"}, "i": 1}', "field inner.q is a text, expected int64"),
        (b'{"inner": {"q": 1, "n": 5}, "i": 1}', "field inner.n is an integer, expected string"),
        (b'{"inner": {}, "i": 1}', "field inner.q is missing"),
        (b'{"i": 5000000000}', "field i: the value is out of range"),
        (b"{}", "field i is missing"),
    ],
)
def test_a_closed_shape_is_strict(value: bytes, reason: str) -> None:
    decoded = JsonDecoder(CLOSED).decode(binary(b'{"i": 1}', value))
    assert reasons(decoded)[1].startswith(reason)
    assert good(decoded) == [0]


def test_a_record_that_is_too_large_to_parse_harms_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(json_decoder, "MEMORY_LIMIT", "20MB")
    bomb = b'{"id": 7, "numbers": [' + b"1," * 2_000_000 + b"1]}"
    values = binary(b'{"id": 1}', b"{bad", bomb, b'{"id": 2, "new": 3}', None)
    decoded = JsonDecoder(open_shape(FIELDS)).decode(values)
    assert good(decoded) == [0, 3, 4]
    assert [row["id"] for row in rows(decoded)] == [1, 2, None]
    assert reasons(decoded).keys() == {1, 2}
    assert reasons(decoded)[2].startswith("cannot be read: Out of Memory")
    assert decoded.new_fields.names == ["new"]
