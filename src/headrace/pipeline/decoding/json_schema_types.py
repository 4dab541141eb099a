"""A JSON Schema as columns.

Its types are what records are held against; the rest of the language (patterns, ranges, conditions)
counts only where validation is asked for. What has no single type becomes text: its JSON.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from headrace.model.errors import InvalidConfig
from headrace.pipeline.decoding.json_shape import ELEMENT, JsonShape, Path
from headrace.pipeline.decoding.model import FIELDS_MAX
from headrace.pipeline.decoding.names import is_column_name, same_but_for_case
from headrace.pipeline.decoding.storable import MOMENT

if TYPE_CHECKING:
    from collections.abc import Mapping

DEPTH_MAX = 32

_TYPES = {"integer": pa.int64(), "number": pa.float64(), "boolean": pa.bool_()}
_FORMATS = {"date-time": MOMENT, "date": pa.date32()}
_NULL = "null"


def shape_of(text: str, references: Mapping[str, str] | None = None) -> JsonShape:
    """``references``: schemas by the names that ``$ref`` gives them."""
    reader = _Reader(
        _parsed(text), {name: _parsed(one) for name, one in (references or {}).items()}
    )
    return reader.read()


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise InvalidConfig(f"a JSON Schema that is no JSON: {error}") from error


class _Reader:
    """Walks one schema; what it finds besides types goes into the two sets."""

    def __init__(self, root: Any, references: Mapping[str, Any]) -> None:
        self._root = root
        self._references = references
        self._required: set[Path] = set()
        self._any_texts: set[Path] = set()

    def read(self) -> JsonShape:
        root, _ = self._resolved(self._root, frozenset())
        kind = self._type(root, (), frozenset())
        if not pa.types.is_struct(kind):
            raise InvalidConfig("a JSON Schema for a table must be of an object with properties")
        names = [field.name for field in kind]
        _raise_if_no_columns(names)
        return JsonShape(
            pa.schema(list(kind)), frozenset(self._required), frozenset(self._any_texts)
        )

    def _type(self, schema: Any, path: Path, seen: frozenset[str]) -> pa.DataType:
        if len(path) > DEPTH_MAX:
            raise InvalidConfig(f"a JSON Schema is nested deeper than {DEPTH_MAX}")
        schema, seen = self._resolved(schema, seen)
        word = _only_type(schema)
        if word == "object" and schema.get("properties"):
            return self._object(schema, path, seen)
        if word == "array" and isinstance(schema.get("items"), dict):
            return pa.list_(self._type(schema["items"], (*path, ELEMENT), seen))
        if word == "string":
            return _FORMATS.get(schema.get("format"), pa.string())
        if word in _TYPES:
            return _TYPES[word]
        self._any_texts.add(path)
        return pa.string()

    def _object(self, schema: Mapping[str, Any], path: Path, seen: frozenset[str]) -> pa.DataType:
        required = schema.get("required", ())
        fields = []
        for name, inner in schema["properties"].items():
            below = (*path, name)
            fields.append(pa.field(name, self._type(inner, below, seen)))
            if name in required and not self._may_be_null(inner, seen):
                self._required.add(below)
        return pa.struct(fields)

    def _may_be_null(self, schema: Any, seen: frozenset[str]) -> bool:
        resolved, _ = self._resolved(schema, seen, keep_null=True)
        if not isinstance(resolved, dict):
            return True
        branches = [*resolved.get("anyOf", ()), *resolved.get("oneOf", ())]
        if any(isinstance(one, dict) and one.get("type") == _NULL for one in branches):
            return True
        words = resolved.get("type")
        if words is None:
            return not {"properties", "enum", "const"} & resolved.keys()
        return words == _NULL or (isinstance(words, list) and _NULL in words)

    def _resolved(
        self, schema: Any, seen: frozenset[str], *, keep_null: bool = False
    ) -> tuple[Any, frozenset[str]]:
        """Behind ``$ref`` and behind a choice between something and null. Empty: anything."""
        while isinstance(schema, dict):
            reference = schema.get("$ref")
            if reference is not None:
                if reference in seen:  # it contains itself: no column is that deep
                    return {}, seen
                seen |= {reference}
                schema = self._find(reference)
                continue
            choice = None if keep_null else _only_choice(schema)
            if choice is None:
                return schema, seen
            schema = choice
        return {}, seen  # true, false

    def _find(self, reference: str) -> Any:
        name, _, pointer = reference.partition("#")
        found = self._references.get(name) if name else self._root
        if name and found is None:
            raise InvalidConfig(f"the JSON Schema refers to {name!r}, which is not known")
        for part in filter(None, pointer.split("/")):
            key = part.replace("~1", "/").replace("~0", "~")
            if not isinstance(found, dict) or key not in found:
                raise InvalidConfig(f"the JSON Schema refers to {reference!r}, which it lacks")
            found = found[key]
        return found


def _only_choice(schema: Mapping[str, Any]) -> Any:
    """Of a choice between one schema and null, the one; None if it is no such choice."""
    for word in ("anyOf", "oneOf", "allOf"):
        branches = schema.get(word)
        if isinstance(branches, list) and "type" not in schema:
            others = [one for one in branches if one != {"type": _NULL}]
            return others[0] if len(others) == 1 else None
    return None


def _only_type(schema: Mapping[str, Any]) -> str | None:
    words = schema.get("type")
    if words is None:
        return _type_of_values(schema)
    others = {words} if isinstance(words, str) else set(words) - {_NULL}
    if others == {"integer", "number"}:
        return "number"
    return others.pop() if len(others) == 1 else None


def _type_of_values(schema: Mapping[str, Any]) -> str | None:
    """Of an enumeration, or of what can only be an object."""
    values = schema.get("enum", [schema["const"]] if "const" in schema else [])
    if values and all(isinstance(value, str) for value in values):
        return "string"
    return "object" if "properties" in schema else None


def _raise_if_no_columns(names: list[str]) -> None:
    if len(names) > FIELDS_MAX:
        raise InvalidConfig(f"a JSON Schema has {len(names)} properties, {FIELDS_MAX} at most")
    for name in names:
        if not is_column_name(name):
            raise InvalidConfig(f"property {name!r} of the JSON Schema cannot be a column")
    twins = same_but_for_case(names)
    if twins is not None:
        raise InvalidConfig(f"properties {twins[0]!r} and {twins[1]!r} differ only in case")
