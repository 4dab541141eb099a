"""JSON Schema: checked by ``jsonschema`` against the draft that it names (7 if it names none, as
Confluent has it), compared by ``json_comparison``.

Nothing is ever fetched: a ``$ref`` leads into the schema itself or to one of its references.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from jsonschema.exceptions import SchemaError
from jsonschema.validators import Draft7Validator, validator_for

from headrace.schemas.errors import InvalidSchema
from headrace.schemas.json_comparison import Comparison
from headrace.schemas.json_pointer import Document, Place, resolve
from headrace.schemas.nesting import raise_if_too_deep

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headrace.schemas.model import Dependency, ParsedSchema


class JsonSchema:
    """One JSON Schema with the documents that it refers to."""

    def __init__(self, document: Document) -> None:
        self._document = document

    @property
    def canonical(self) -> str:
        return json.dumps(self._document.root, separators=(",", ":"), ensure_ascii=False)

    @property
    def normalized(self) -> str:
        return json.dumps(
            self._document.root, separators=(",", ":"), ensure_ascii=False, sort_keys=True
        )

    def problems_reading(self, writer: ParsedSchema) -> list[str]:
        if not isinstance(writer, JsonSchema):
            return ["the kind of the schema has changed"]
        return Comparison(self._document, writer._document).problems()


def parse_json_schema(text: str, dependencies: Sequence[Dependency]) -> JsonSchema:
    others = {dependency.name: _understand(dependency.text) for dependency in dependencies}
    document = Document(_understand(text), others)
    for reference in _references(document.root):
        resolve(document, Place({"$ref": reference}, document.root))
    return JsonSchema(document)


def _understand(text: str) -> Any:
    try:
        root = json.loads(text)
    except ValueError as error:
        raise InvalidSchema(f"Invalid schema of type JSON, details: {error}") from error
    raise_if_too_deep(root)
    if isinstance(root, bool):
        return root
    if not isinstance(root, dict):
        raise InvalidSchema("Invalid schema of type JSON, details: neither an object nor a boolean")
    draft = root.get("$schema")
    if draft is not None and not isinstance(draft, str):
        raise InvalidSchema("Invalid schema of type JSON, details: $schema is not a string")
    try:
        validator_for(root, default=Draft7Validator).check_schema(root)
    except SchemaError as error:
        raise InvalidSchema(f"Invalid schema of type JSON, details: {error.message}") from error
    return root


def _references(node: Any) -> Iterator[str]:
    """Every ``$ref``, except inside of values that are data."""
    if isinstance(node, list):
        for item in node:
            yield from _references(item)
    elif isinstance(node, dict):
        for name, value in node.items():
            if name == "$ref" and isinstance(value, str):
                yield value
            elif name not in ("const", "default", "enum", "examples"):
                yield from _references(value)
