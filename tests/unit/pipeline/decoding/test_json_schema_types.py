"""JSON Schemas as columns."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from headrace.model.errors import InvalidConfig
from headrace.pipeline.decoding.json_schema_types import shape_of

MOMENT = pa.timestamp("us", "UTC")


def schema(properties: dict[str, Any], **more: Any) -> str:
    return json.dumps({"type": "object", "properties": properties, **more})


@pytest.mark.parametrize(
    ("inner", "kind"),
    [
        ({"type": "integer"}, pa.int64()),
        ({"type": "number"}, pa.float64()),
        ({"type": ["integer", "number"]}, pa.float64()),
        ({"type": "boolean"}, pa.bool_()),
        ({"type": "string"}, pa.string()),
        ({"type": ["null", "string"]}, pa.string()),
        ({"type": "string", "format": "date-time"}, MOMENT),
        ({"type": "string", "format": "date"}, pa.date32()),
        ({"type": "array", "items": {"type": "integer"}}, pa.list_(pa.int64())),
        ({"anyOf": [{"type": "null"}, {"type": "integer"}]}, pa.int64()),
        ({"enum": ["a", "b"]}, pa.string()),
        ({"const": "a"}, pa.string()),
        ({"$ref": "#/$defs/inner"}, pa.struct([("q", pa.int64())])),
        ({"$ref": "other"}, pa.int64()),
        (
            {"type": "array", "items": {"$ref": "#/$defs/inner"}},
            pa.list_(pa.struct([("q", pa.int64())])),
        ),
    ],
)
def test_types(inner: dict[str, Any], kind: pa.DataType) -> None:
    definitions = {"inner": {"properties": {"q": {"type": "integer"}}}}
    text = schema({"x": inner}, **{"$defs": definitions})
    shape = shape_of(text, {"other": '{"type": "integer"}'})
    assert shape.fields == pa.schema([("x", kind)])
    assert not shape.any_texts
    assert not shape.is_open


@pytest.mark.parametrize(
    "inner",
    [
        {},
        True,
        {"type": "object"},
        {"type": ["integer", "string"]},
        {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        {"type": "array"},
        {"enum": [1, "a"]},
        {"$ref": "#"},
    ],
)
def test_what_has_no_single_type_is_text(inner: Any) -> None:
    shape = shape_of(schema({"x": inner}))
    if inner == {"$ref": "#"}:
        assert shape.any_texts == {("x", "x")}, "once in itself, and no deeper"
    else:
        assert shape.fields == pa.schema([("x", pa.string())])
        assert shape.any_texts == {("x",)}


def test_what_is_required() -> None:
    inner = {"type": "object", "properties": {"q": {"type": "integer"}}, "required": ["q"]}
    text = schema(
        {"a": {"type": "integer"}, "b": {"type": ["null", "integer"]}, "inner": inner},
        required=["a", "b", "unknown"],
    )
    assert shape_of(text).required == {("a",), ("inner", "q")}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "no JSON"),
        ('{"type": "string"}', "object with properties"),
        (schema({"a b": {}}), "cannot be a column"),
        (schema({"a": {}, "A": {}}), "only in case"),
        (schema({"a": {"$ref": "#/nowhere"}}), "nowhere"),
        (schema({"a": {"$ref": "elsewhere"}}), "elsewhere"),
        (schema({f"f{number}": {} for number in range(2_001)}), "2001 properties"),
    ],
)
def test_schemas_that_are_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidConfig, match=message):
        shape_of(text)
