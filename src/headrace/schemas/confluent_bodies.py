"""From Confluent's JSON to the nouns of the registry. Nothing of what comes is trusted."""

from __future__ import annotations

from typing import Any

from headrace.schemas.decisions import Wish
from headrace.schemas.errors import (
    InvalidCompatibility,
    InvalidMode,
    InvalidSchema,
    InvalidVersion,
)
from headrace.schemas.model import ID_MAX, Compatibility, Kind, Mode, Reference, Schema
from headrace.schemas.state import LATEST

NOT_KEPT = ("metadata", "ruleSet")
"""Parts of a schema that change what clients do; to drop them silently would be a lie."""


def parse_version(text: str) -> int:
    if text in ("latest", str(LATEST)):
        return LATEST
    is_number = text.isascii() and text.isdecimal() and len(text) <= len(str(ID_MAX))
    if not is_number or not 1 <= int(text) <= ID_MAX:
        raise InvalidVersion(text)
    return int(text)


def read_wish(body: dict[str, Any], *, normalize: bool) -> Wish:
    return Wish(read_schema(body), normalize, _positive(body, "id"), _positive(body, "version"))


def read_level(body: dict[str, Any]) -> Compatibility:
    unserved = [name for name, value in body.items() if name != "compatibility" and value]
    if unserved:
        raise InvalidCompatibility(f"not supported by this registry: {', '.join(unserved)}")
    try:
        return Compatibility(str(body.get("compatibility")).upper())
    except ValueError as error:
        levels = ", ".join(level.value for level in Compatibility)
        raise InvalidCompatibility(
            f"Invalid compatibility level. Valid values are {levels}"
        ) from error


def read_mode(body: dict[str, Any]) -> Mode:
    try:
        return Mode(str(body.get("mode")).upper())
    except ValueError as error:
        modes = ", ".join(mode.value for mode in Mode)
        raise InvalidMode(f"Invalid mode. Valid values are {modes}") from error


def read_schema(body: dict[str, Any]) -> Schema:
    unserved = [name for name in NOT_KEPT if body.get(name)]
    if unserved:
        raise InvalidSchema(f"not supported by this registry: {', '.join(unserved)}")
    text = body.get("schema")
    if not isinstance(text, str):
        raise InvalidSchema("Empty schema")
    kind = body.get("schemaType") or Kind.AVRO.value
    if kind not in Kind.__members__:
        raise InvalidSchema(f"Invalid schema type {kind}")
    references = body.get("references") or []
    if not isinstance(references, list):
        raise InvalidSchema("references must be a list")
    return Schema(text, Kind[kind], tuple(_reference(part) for part in references))


def _reference(part: Any) -> Reference:
    if isinstance(part, dict):
        name, subject, version = (part.get(key) for key in ("name", "subject", "version"))
        is_number = isinstance(version, int) and not isinstance(version, bool)
        if isinstance(name, str) and isinstance(subject, str) and is_number:
            return Reference(name, subject, int(version or 0))
    raise InvalidSchema("a reference has a name, a subject and a version")


def _positive(body: dict[str, Any], name: str) -> int | None:
    value = body.get(name)
    if value is None or value in (0, -1):
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= ID_MAX:
        raise InvalidSchema(f"{name} is not a number from 1 to {ID_MAX}")
    return value
