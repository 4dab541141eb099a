"""Find the parser of a schema's kind. Libraries are loaded on first use: they are an extra."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from headrace.schemas.errors import InvalidSchema, KindNotInstalled
from headrace.schemas.model import Kind

if TYPE_CHECKING:
    from headrace.schemas.model import Dependency, ParsedSchema

LIBRARIES = {
    Kind.JSON: ("jsonschema",),
    Kind.PROTOBUF: ("google", "google.protobuf", "proto_schema_parser"),
    Kind.AVRO: ("avro",),
}


def parse(kind: Kind, text: str, dependencies: tuple[Dependency, ...] = ()) -> ParsedSchema:
    """Understand a schema, or raise InvalidSchema. Dependencies come before their users."""
    try:
        if kind is Kind.AVRO:
            from headrace.schemas.avro_schema import parse_avro

            return parse_avro(text, dependencies)
        if kind is Kind.JSON:
            from headrace.schemas.json_schema import parse_json_schema

            return parse_json_schema(text, dependencies)
        from headrace.schemas.protobuf_schema import parse_protobuf

        return parse_protobuf(text, dependencies)
    except RecursionError as error:
        raise InvalidSchema("the schema is nested too deeply") from error
    except ImportError as error:
        raise KindNotInstalled(kind.value, error) from error


def installed_kinds() -> list[Kind]:
    """The kinds whose libraries are there."""
    return [
        kind
        for kind, modules in LIBRARIES.items()
        if all(find_spec(module) is not None for module in modules)
    ]
