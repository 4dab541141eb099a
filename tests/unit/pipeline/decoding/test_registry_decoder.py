"""Records that name their schema: several in one array, older and newer ones, unknown ones."""

from __future__ import annotations

import base64
import json
from typing import Any

import pyarrow as pa
from google.protobuf.message_factory import GetMessageClass

from headrace.pipeline.decoding.errors import SchemaNotRegistered
from headrace.pipeline.decoding.protobuf_decoder import link, message_by_name
from headrace.pipeline.decoding.registry_client import AVRO, JSON, PROTOBUF, RegisteredSchema
from headrace.pipeline.decoding.registry_decoder import RegistryDecoder

from .test_protobuf_decoder import order_file
from .values import avro, binary, good, reasons, rows

OLD = {"type": "record", "name": "R", "fields": [{"name": "id", "type": "int"}]}
NEW = {
    "type": "record",
    "name": "R",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "name", "type": "string", "default": "nobody"},
    ],
}
WRONG = {"type": "record", "name": "R", "fields": [{"name": "id", "type": "string"}]}
FIELDS = pa.schema([("id", pa.int64()), ("name", pa.string())])
JSON_SCHEMA = {"type": "object", "properties": {"id": {"type": "integer"}}}


class FakeClient:
    def __init__(self) -> None:
        self.schemas = {
            1: RegisteredSchema(AVRO, json.dumps(OLD)),
            2: RegisteredSchema(AVRO, json.dumps(NEW)),
            3: RegisteredSchema(AVRO, json.dumps(WRONG)),
            4: RegisteredSchema(JSON, json.dumps(JSON_SCHEMA)),
            5: RegisteredSchema(PROTOBUF, base64.b64encode(order_file()).decode()),
            6: RegisteredSchema(AVRO, "{"),
        }

    def schema(self, schema_id: int) -> RegisteredSchema:
        if schema_id not in self.schemas:
            raise SchemaNotRegistered(str(schema_id))
        return self.schemas[schema_id]


def framed(schema_id: int, body: bytes) -> bytes:
    return b"\0" + schema_id.to_bytes(4) + body


def decoder(fields: pa.Schema = FIELDS, defaults: dict[str, Any] | None = None) -> RegistryDecoder:
    return RegistryDecoder(FakeClient(), fields, defaults or {})  # type: ignore[arg-type]


def old(number: int) -> bytes:
    return framed(1, avro(OLD, {"id": number}))


def new(number: int) -> bytes:
    return framed(2, avro(NEW, {"id": number, "name": "n"}))


def test_one_schema_for_all() -> None:
    decoded = decoder().decode(binary(new(1), new(2)))
    assert rows(decoded) == [{"id": 1, "name": "n"}, {"id": 2, "name": "n"}]
    assert good(decoded) in (None, [0, 1])
    assert len(decoded.new_fields) == 0


def test_old_and_new_in_one_array_keep_their_order() -> None:
    values = binary(
        new(1), old(2), None, new(3), b"{}", framed(99, b""), framed(2, b"\xff"), old(4)
    )
    decoded = decoder(defaults={"name": "nobody"}).decode(values)
    assert good(decoded) == [0, 1, 2, 3, 7]
    assert rows(decoded) == [
        {"id": 1, "name": "n"},
        {"id": 2, "name": "nobody"},
        {"id": None, "name": None},
        {"id": 3, "name": "n"},
        {"id": 4, "name": "nobody"},
    ]
    assert reasons(decoded).keys() == {4, 5, 6}
    assert reasons(decoded)[5] == "schema 99 is not in the registry"


def test_fields_that_the_table_lacks_are_reported() -> None:
    decoded = decoder(pa.schema([("id", pa.int64())])).decode(binary(old(1), new(2)))
    assert decoded.new_fields == pa.schema([("name", pa.string())])
    assert decoder(pa.schema([])).decode(binary(new(1))).new_fields == FIELDS


def test_a_schema_that_contradicts_the_table_is_the_records_fault() -> None:
    decoded = decoder().decode(binary(new(1), framed(3, avro(WRONG, {"id": "x"}))))
    assert good(decoded) == [0]
    assert reasons(decoded) == {1: "field id is string, the column int64"}


def test_a_schema_that_cannot_be_used_is_named() -> None:
    decoded = decoder().decode(binary(framed(6, b"x")))
    assert rows(decoded) == []
    assert reasons(decoded)[0].startswith("schema 6: an Avro schema that is no JSON")


def test_json() -> None:
    decoded = decoder().decode(binary(framed(4, b'{"id": 5}'), framed(4, b"{")))
    assert rows(decoded) == [{"id": 5, "name": None}]
    assert reasons(decoded).keys() == {1}


def test_protobuf_messages_by_their_place() -> None:
    file = link(order_file())
    order = GetMessageClass(message_by_name(file, "Order"))(id=5, name="n").SerializeToString()
    line = GetMessageClass(message_by_name(file, "Line"))(q=7).SerializeToString()
    fields = pa.schema([*FIELDS, ("q", pa.int32())])
    decoded = decoder(fields).decode(
        binary(
            framed(5, b"\0" + order),
            framed(5, b"\x04\x00\x00" + line),
            framed(5, b"\x02\x12" + line),
            framed(5, b""),
        )
    )
    assert rows(decoded) == [{"id": 5, "name": "n", "q": None}, {"id": None, "name": None, "q": 7}]
    assert reasons(decoded).keys() == {2, 3}
    assert "wide" in decoded.new_fields.names


def test_fields_that_differ_only_in_case_are_the_records_fault() -> None:
    other = {**OLD, "fields": [{"name": "ID", "type": "int"}]}
    client = FakeClient()
    client.schemas[7] = RegisteredSchema(AVRO, json.dumps(other))
    made = RegistryDecoder(client, FIELDS, {})  # type: ignore[arg-type]
    decoded = made.decode(binary(new(1), framed(7, avro(other, {"ID": 5}))))
    assert good(decoded) == [0]
    assert reasons(decoded) == {1: "fields 'id' and 'ID' differ only in case"}
    assert len(decoded.new_fields) == 0


def test_twins_among_new_fields_do_not_both_become_columns() -> None:
    other = {**OLD, "fields": [{"name": "ID", "type": "int"}]}
    client = FakeClient()
    client.schemas[7] = RegisteredSchema(AVRO, json.dumps(other))
    made = RegistryDecoder(client, pa.schema([]), {})  # type: ignore[arg-type]
    decoded = made.decode(binary(old(1), framed(7, avro(other, {"ID": 5}))))
    assert decoded.new_fields == pa.schema([("id", pa.int32())])


def test_a_record_that_contradicts_twice_is_bad_once() -> None:
    both = {**NEW, "fields": [{"name": "id", "type": "string"}, {"name": "name", "type": "int"}]}
    client = FakeClient()
    client.schemas[7] = RegisteredSchema(AVRO, json.dumps(both))
    made = RegistryDecoder(client, FIELDS, {})  # type: ignore[arg-type]
    decoded = made.decode(binary(framed(7, avro(both, {"id": "x", "name": 5}))))
    assert reasons(decoded) == {0: "field id is string, the column int64"}
    assert len(decoded.bad) == 1


def test_values_of_one_schema_need_no_copy_of_the_other_columns() -> None:
    assert good(decoder().decode(binary(new(1), new(2)))) is None
