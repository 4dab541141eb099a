"""Find the parser of a schema's kind. Libraries are loaded on first use: they are an extra.

Parsing is the costly part, so the last results are kept; what is kept is never changed.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from headrace.schemas.errors import InvalidSchema
from headrace.schemas.model import Kind

if TYPE_CHECKING:
    from headrace.schemas.model import Dependency, ParsedSchema

PARSED_KEPT_MAX = 512


@lru_cache(maxsize=PARSED_KEPT_MAX)
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
        raise InvalidSchema(
            f"{kind.value} schemas need the libraries of headrace[registry]: {error}"
        ) from error
