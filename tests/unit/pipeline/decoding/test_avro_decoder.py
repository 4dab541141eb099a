"""Avro: two libraries, one result."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from uuid import UUID

import pyarrow as pa
import pytest

from headrace.model.errors import InvalidConfig
from headrace.pipeline.decoding.avro_decoder import AvroDecoder, defaults_of

from .values import avro, binary, good, reasons, rows

FAST = {
    "type": "record",
    "name": "R",
    "namespace": "a.b",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "name", "type": ["null", "string"]},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "counts", "type": {"type": "map", "values": "int"}},
        {
            "name": "inner",
            "type": {"type": "record", "name": "S", "fields": [{"name": "q", "type": "int"}]},
        },
        {"name": "maybe", "type": ["null", "S"]},
    ],
}
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def fast_row(number: int) -> dict[str, object]:
    return {
        "id": number,
        "name": None if number % 2 else "x",
        "at": EPOCH,
        "tags": ["a"],
        "counts": {"k": 1},
        "inner": {"q": 1},
        "maybe": None,
    }


def test_compiled_decoding_parks_only_what_is_broken() -> None:
    whole = [avro(FAST, fast_row(number)) for number in range(4)]
    decoder = AvroDecoder(json.dumps(FAST))
    decoded = decoder.decode(binary(whole[0], b"\xff", None, whole[1], whole[2][:-4], whole[3]))
    assert good(decoded) == [0, 2, 3, 5]
    assert [row["id"] for row in rows(decoded)] == [0, None, 1, 3]
    assert rows(decoded)[0] == {**fast_row(0), "counts": [("k", 1)]}
    assert set(reasons(decoded)) == {1, 4}
    assert decoded.columns.schema == decoder.schema()


def test_text_that_is_no_utf_8_is_parked() -> None:
    schema = {"type": "record", "name": "T", "fields": [{"name": "t", "type": "string"}]}
    decoded = AvroDecoder(json.dumps(schema)).decode(binary(b"\x02a", b"\x02\xff", b"\x02b"))
    assert good(decoded) == [0, 2]
    assert "UTF8" in reasons(decoded)[1]


SLOW = {
    "type": "record",
    "name": "R",
    "fields": [
        {"name": "b", "type": "bytes"},
        {
            "name": "d",
            "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2},
        },
        {"name": "u", "type": {"type": "string", "logicalType": "uuid"}},
        {"name": "t", "type": {"type": "int", "logicalType": "time-millis"}},
        {"name": "choice", "type": ["null", "int", "string"]},
        {"name": "again", "type": ["null", "R"]},
        {"name": "m", "type": {"type": "map", "values": "bytes"}},
        {"name": "f", "type": {"type": "fixed", "name": "F", "size": 3}},
        {
            "name": "days",
            "type": {"type": "array", "items": {"type": "int", "logicalType": "date"}},
        },
    ],
}
SLOW_ROW = {
    "b": b"x",
    "d": Decimal("1.25"),
    "u": UUID(int=5),
    "t": datetime.time(1, 2),
    "choice": 5,
    "again": None,
    "m": {"a": b"q"},
    "f": b"abc",
    "days": [datetime.date(2024, 1, 1)],
}


def test_every_other_type_is_kept() -> None:
    nested = avro(SLOW, {**SLOW_ROW, "again": SLOW_ROW, "choice": "s"})
    decoded = AvroDecoder(json.dumps(SLOW)).decode(
        binary(avro(SLOW, SLOW_ROW), nested + b"x", nested)
    )
    first, second = rows(decoded)
    assert first == {
        **SLOW_ROW,
        "u": str(UUID(int=5)),
        "t": 3_720_000_000,
        "choice": "5",
        "m": [("a", b"q")],
    }
    assert second["choice"] == "s"
    assert json.loads(second["again"])["f"] == "abc"
    assert reasons(decoded) == {1: "1 bytes too many"}


def test_a_schema_that_is_no_record_is_one_column() -> None:
    assert rows(AvroDecoder('"long"').decode(binary(b"\x02", b"\x04"))) == [
        {"value": 1},
        {"value": 2},
    ]


def record(types: dict[str, str], **more: str) -> str:
    fields = [{"name": name, "type": kind} for name, kind in types.items()]
    return json.dumps({"type": "record", "name": "O", "fields": fields, **more})


def test_references_are_put_in_place_once() -> None:
    inner = record({"q": "int"}, name="S", namespace="n")
    decoder = AvroDecoder(record({"x": "n.S", "y": "n.S"}), [inner])
    assert rows(decoder.decode(binary(b"\x02\x04"))) == [{"x": {"q": 1}, "y": {"q": 2}}]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "no JSON"),
        ('{"type": "record"}', "no usable Avro schema"),
        ('{"type": "array", "items": "null"}', "take no bytes"),
        ('{"type": "record", "name": "O", "fields": [{"name": "x", "type": "n.S"}]}', "n.S"),
    ],
)
def test_bad_schemas_are_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidConfig, match=message):
        AvroDecoder(text)


def test_defaults_of_the_reader() -> None:
    fields = [{"name": "x", "type": "int", "default": 5}, {"name": "y", "type": "int"}]
    text = json.dumps({"type": "record", "name": "O", "fields": fields})
    assert defaults_of(text) == {"x": 5}
    assert defaults_of('"long"') == {}


def test_schema_of_arrow_is_nullable_throughout() -> None:
    schema = AvroDecoder(json.dumps(FAST)).schema()
    assert all(field.nullable for field in schema)
    assert schema.field("at").type == pa.timestamp("us", "UTC")
