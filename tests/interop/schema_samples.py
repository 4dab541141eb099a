"""Schemas of one thing in three languages, and how each may change."""

from __future__ import annotations

import json
from typing import Any

ORDER_FIELDS: list[dict[str, Any]] = [{"name": "id", "type": "long"}]
NOTE = {"name": "note", "type": "string"}
NOTE_WITH_DEFAULT = {**NOTE, "default": ""}


def avro(*fields: dict[str, Any]) -> str:
    return json.dumps({"type": "record", "name": "Order", "fields": [*ORDER_FIELDS, *fields]})


def json_schema(*, required: tuple[str, ...] = (), is_open: bool = True, **properties: str) -> str:
    return json.dumps(
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "title": "Order",
            "type": "object",
            "properties": {name: {"type": kind} for name, kind in properties.items()},
            "required": list(required),
            "additionalProperties": is_open,
        }
    )


def protobuf(*fields: str) -> str:
    return f'syntax = "proto3"; message Order {{ {" ".join(fields)} }}'


ORDER = avro()
ORDER_WITH_NOTE = avro(NOTE_WITH_DEFAULT)
ORDER_BROKEN = json.dumps(
    {"type": "record", "name": "Order", "fields": [{"name": "sum", "type": "string"}]}
)
PERSON = json_schema(required=("name",), name="string")

BACKWARD = {"BACKWARD", "BACKWARD_TRANSITIVE"}
FORWARD = {"FORWARD", "FORWARD_TRANSITIVE"}
FULL = {"FULL", "FULL_TRANSITIVE"}
LEVELS = sorted({"NONE", *BACKWARD, *FORWARD, *FULL})

CHANGES = {
    "avro: field with a default is added": (
        *("AVRO", avro(), avro(NOTE_WITH_DEFAULT)),
        {"NONE", *BACKWARD, *FORWARD, *FULL},
    ),
    "avro: field without a default is added": (
        *("AVRO", avro(), avro(NOTE)),
        {"NONE", *FORWARD},
    ),
    "avro: field without a default is removed": (
        *("AVRO", avro(NOTE), avro()),
        {"NONE", *BACKWARD},
    ),
    "avro: type is widened": (*("AVRO", '"int"', '"long"'), {"NONE", *BACKWARD}),
    "avro: type is changed": (*("AVRO", '"int"', '"string"'), {"NONE"}),
    "json: optional property is added to a closed model": (
        *("JSON", json_schema(is_open=False, id="integer")),
        json_schema(is_open=False, id="integer", note="string"),
        {"NONE", *BACKWARD},
    ),
    "json: property is removed from a closed model": (
        *("JSON", json_schema(is_open=False, id="integer", note="string")),
        json_schema(is_open=False, id="integer"),
        {"NONE", *FORWARD},
    ),
    "json: property is no longer required": (
        *("JSON", json_schema(required=("id",), id="integer")),
        json_schema(id="integer"),
        {"NONE", *BACKWARD},
    ),
    "json: type is changed": (
        *("JSON", json_schema(id="integer"), json_schema(id="string")),
        {"NONE"},
    ),
    "protobuf: field is added": (
        *("PROTOBUF", protobuf("int64 id = 1;"), protobuf("int64 id = 1;", "string note = 2;")),
        {"NONE", *BACKWARD, *FORWARD, *FULL},
    ),
    "protobuf: type is changed": (
        *("PROTOBUF", protobuf("int64 id = 1;"), protobuf("string id = 1;")),
        {"NONE"},
    ),
    "protobuf: message is removed": (
        "PROTOBUF",
        protobuf("int64 id = 1;") + " message Line {}",
        protobuf("int64 id = 1;"),
        {"NONE", *FORWARD},
    ),
}
"""Kind, before, after, and the levels that allow it, as Confluent documents them."""

TRANSITIVE = (avro(), avro(NOTE_WITH_DEFAULT), avro(NOTE))
"""The third reads the second, whose field had a default, but not the first, which lacks it."""
