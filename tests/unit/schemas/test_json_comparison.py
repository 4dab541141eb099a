"""Which JSON Schemas accept what others allow: the rules, one by one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headrace.schemas.kinds import parse
from headrace.schemas.model import Dependency, Kind


def problems(reader: Any, writer: Any) -> list[str]:
    new, old = (parse(Kind.JSON, json.dumps(schema)) for schema in (reader, writer))
    return new.problems_reading(old)


def thing(*, closed: bool = False, required: tuple[str, ...] = (), **properties: Any) -> Any:
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if closed:
        schema["additionalProperties"] = False
    return {**schema, "required": list(required)} if required else schema


TEXT = {"type": "string"}
NUMBER = {"type": "number"}
WHOLE = {"type": "integer"}
LIST = {"$ref": "#/$defs/node", "$defs": {"node": thing(value=TEXT, next={"$ref": "#/$defs/node"})}}


@pytest.mark.parametrize(
    ("reader", "writer"),
    [
        (True, TEXT),
        ({}, TEXT),
        (TEXT, False),
        (NUMBER, WHOLE),
        ({"type": ["string", "null"]}, TEXT),
        ({"enum": [1, 2]}, {"enum": [1]}),
        ({"enum": ["a", "b"]}, {"const": "a"}),
        (TEXT, {"enum": ["a"]}),
        ({**TEXT, "maxLength": 9}, {**TEXT, "maxLength": 5}),
        ({**WHOLE, "minimum": 1}, {**WHOLE, "minimum": 2}),
        (WHOLE, {**WHOLE, "maximum": 2}),
        ({**WHOLE, "multipleOf": 2}, {**WHOLE, "multipleOf": 4}),
        (thing(a=TEXT), thing(a=TEXT, b=TEXT)),
        (thing(a=TEXT, b=TEXT, closed=True), thing(a=TEXT, closed=True)),
        (thing(a=TEXT, b={}), thing(a=TEXT)),
        (thing(a=TEXT), thing(a=TEXT, required=("a",))),
        (thing(a={**TEXT, "default": ""}, required=("a",)), thing(a=TEXT)),
        (thing(a=TEXT), thing(a=TEXT, closed=True)),
        ({"type": "array", "items": NUMBER}, {"type": "array", "items": WHOLE}),
        ({"anyOf": [TEXT, WHOLE]}, TEXT),
        ({"oneOf": [TEXT, WHOLE, NUMBER]}, {"oneOf": [TEXT, WHOLE]}),
        ({"type": ["string", "number"]}, {"anyOf": [TEXT, WHOLE]}),
        ({"allOf": [NUMBER, {"maximum": 9}]}, {**WHOLE, "maximum": 9}),
        (NUMBER, {"allOf": [WHOLE, {"maximum": 9}]}),
        (LIST, LIST),
    ],
)
def test_accepted(reader: Any, writer: Any) -> None:
    assert problems(reader, writer) == []


@pytest.mark.parametrize(
    ("reader", "writer"),
    [
        (False, TEXT),
        (TEXT, True),
        (WHOLE, NUMBER),
        (TEXT, {"type": ["string", "null"]}),
        ({"enum": [1]}, {"enum": [1, 2]}),
        ({"enum": [1]}, WHOLE),
        (WHOLE, {"enum": ["a"]}),
        ({**TEXT, "maxLength": 5}, {**TEXT, "maxLength": 9}),
        ({**TEXT, "pattern": "a"}, TEXT),
        ({**WHOLE, "minimum": 2}, {**WHOLE, "minimum": 1}),
        ({**WHOLE, "maximum": 2}, WHOLE),
        ({**WHOLE, "multipleOf": 4}, {**WHOLE, "multipleOf": 2}),
        (thing(a=TEXT, b=TEXT), thing(a=TEXT)),
        (thing(a=TEXT, closed=True), thing(a=TEXT, b=TEXT, closed=True)),
        (thing(a=TEXT, closed=True), thing(a=TEXT)),
        (thing(a=TEXT, required=("a",)), thing(a=TEXT)),
        (thing(a=WHOLE), thing(a=TEXT)),
        ({"type": "array", "items": WHOLE}, {"type": "array", "items": NUMBER}),
        ({"type": "array", "uniqueItems": True}, {"type": "array"}),
        ({"anyOf": [TEXT, WHOLE]}, {"type": "boolean"}),
        ({"oneOf": [TEXT]}, {"oneOf": [TEXT, WHOLE]}),
        ({"allOf": [NUMBER, {"maximum": 5}]}, {**WHOLE, "maximum": 9}),
        ({"not": TEXT}, {}),
    ],
)
def test_refused(reader: Any, writer: Any) -> None:
    assert problems(reader, writer) != []


def test_message_says_where() -> None:
    found = problems(thing(a=thing(b=WHOLE)), thing(a=thing(b=TEXT)))
    assert found == ["#/properties/a/properties/b/type: string is no longer accepted"]


def test_change_inside_a_schema_that_contains_itself_is_found() -> None:
    changed = {**LIST, "$defs": {"node": thing(value=WHOLE, next={"$ref": "#/$defs/node"})}}
    assert problems(changed, LIST) != []


def test_reference_to_another_document() -> None:
    user = json.dumps(thing(a={"$ref": "name.json"}))
    old = parse(Kind.JSON, user, (Dependency("name.json", '{"type":"string"}'),))
    new = parse(Kind.JSON, user, (Dependency("name.json", '{"type":"integer"}'),))
    assert old.problems_reading(old) == []
    assert new.problems_reading(old) != []
