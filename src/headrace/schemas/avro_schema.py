"""Avro: parsed and compared by Apache's own library, which has the rules of schema resolution."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from avro.compatibility import ReaderWriterCompatibilityChecker, SchemaCompatibilityType
from avro.errors import AvroException
from avro.name import Names
from avro.schema import make_avsc_object

from headrace.schemas.errors import InvalidSchema
from headrace.schemas.nesting import raise_if_too_deep

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.schemas.model import Dependency, ParsedSchema

ATTRIBUTE_ORDER = (
    "name",
    "namespace",
    "type",
    "doc",
    "aliases",
    "fields",
    "symbols",
    "items",
    "values",
    "size",
    "default",
    "order",
)


class AvroSchema:
    """One Avro schema with the named types that it uses."""

    def __init__(self, source: Any, parsed: Any) -> None:
        self._source = source
        self._parsed = parsed

    @property
    def canonical(self) -> str:
        return compact(self._source)

    @property
    def normalized(self) -> str:
        return compact(_normalize(self._source))

    def problems_reading(self, writer: ParsedSchema) -> list[str]:
        if not isinstance(writer, AvroSchema):
            return ["the kind of the schema has changed"]
        # A checker remembers pairs by identity: one for each comparison.
        checker = ReaderWriterCompatibilityChecker()  # type: ignore[no-untyped-call]
        result = checker.get_compatibility(self._parsed, writer._parsed)
        if result.compatibility is SchemaCompatibilityType.compatible:
            return []
        places = ", ".join(sorted(result.locations))
        kinds = ", ".join(sorted(kind.value for kind in result.incompatibilities))
        return [f"{message} ({kinds}; at {places})" for message in sorted(result.messages)]


def parse_avro(text: str, dependencies: Sequence[Dependency]) -> AvroSchema:
    names = Names()
    for dependency in dependencies:
        _understand(dependency.text, names)
    return AvroSchema(*_understand(text, names))


def compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _understand(text: str, names: Names) -> tuple[Any, Any]:
    try:
        source = json.loads(text)
    except ValueError:
        source = text.strip()  # a bare type name, which Confluent takes too
    raise_if_too_deep(source)
    try:
        return source, make_avsc_object(source, names)
    except (AvroException, TypeError, ValueError, KeyError, AttributeError) as error:
        raise InvalidSchema(f"Invalid schema of type AVRO, details: {error}") from error


def _normalize(node: Any) -> Any:
    """Attributes in one order, primitive types without their braces, no empty attributes."""
    if isinstance(node, list):
        return [_normalize(item) for item in node]
    if not isinstance(node, dict):
        return node
    if set(node) == {"type"} and isinstance(node["type"], str):
        return node["type"]
    known = [name for name in ATTRIBUTE_ORDER if name in node]
    others = sorted(set(node) - set(known))
    # Default values are data, not schemas: they stay as they are.
    return {
        name: node[name] if name in ("default", *others) else _normalize(node[name])
        for name in (*known, *others)
        if node[name] != [] or name in ("fields", "default")
    }
