"""What a request says: path, query and body. Nothing of what comes is trusted."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote

from starlette.exceptions import HTTPException

from headrace.schemas.confluent_bodies import parse_version
from headrace.schemas.errors import InvalidSubject, SchemaNotFound, SchemaTooLarge
from headrace.schemas.model import DEFAULT_CONTEXT, ID_MAX

if TYPE_CHECKING:
    from starlette.requests import Request

T = TypeVar("T")

BODY_BYTES_MAX = 1_000_000
"""A schema of the allowed size, every character escaped, with its references."""
LENGTH_DIGITS_MAX = 20
MEDIA_TYPES = (
    "application/vnd.schemaregistry.v1+json",
    "application/vnd.schemaregistry+json",
    "application/json",
    "application/octet-stream",
)


def flag(request: Request, *names: str) -> bool:
    """Whether one of these is true; some have an older spelling."""
    return any(request.query_params.get(name, "").lower() == "true" for name in names)


def prefix_of(request: Request) -> str:
    """Which subjects to list; Confluent's default names all contexts and all that is in them."""
    prefix = request.query_params.get("subjectPrefix", "")
    return "" if prefix == ":*:" else prefix.removeprefix(DEFAULT_CONTEXT)


def page(request: Request, found: list[T], limit_default: int = -1) -> list[T]:
    """``offset`` and ``limit``; a negative limit means as many as may be."""
    offset = max(_number(request, "offset", 0), 0)
    limit = _number(request, "limit", limit_default)
    if limit < 0:
        limit = limit_default
    return found[offset:] if limit < 0 else found[offset : offset + limit]


def _number(request: Request, name: str, default: int) -> int:
    text = request.query_params.get(name)
    if text is None:
        return default
    try:
        return int(text)
    except ValueError as error:
        raise HTTPException(400, f"{name} is not a number") from error


def subject_of(request: Request) -> str:
    raw = request.path_params["subject"]
    try:
        return unquote(raw, errors="strict").removeprefix(DEFAULT_CONTEXT)
    except UnicodeDecodeError as error:
        raise InvalidSubject(f"The specified subject '{raw}' is not valid") from error


def maybe_subject_of(request: Request) -> str | None:
    """None where the path names no subject: then all are meant."""
    return subject_of(request) if "subject" in request.path_params else None


def version_of(request: Request) -> int:
    return parse_version(unquote(request.path_params["version"]))


def schema_id_of(request: Request) -> int:
    text = request.path_params["id"]
    if not (text.isascii() and text.isdecimal()):
        raise HTTPException(404)
    if len(text) > len(str(ID_MAX)):
        raise SchemaNotFound
    return int(text)


async def read_body(request: Request) -> dict[str, Any]:
    """A JSON object of bounded size, whether its length was told before or it comes in chunks."""
    media_type = request.headers.get("content-type", MEDIA_TYPES[0]).partition(";")[0].strip()
    if media_type.lower() not in MEDIA_TYPES:
        raise HTTPException(415)
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced[:LENGTH_DIGITS_MAX]) > BODY_BYTES_MAX:
        raise _too_large()
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > BODY_BYTES_MAX:
            raise _too_large()
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, "the body is no JSON") from error
    if not isinstance(value, dict):
        raise HTTPException(400, "the body is no JSON object")
    return value


def _too_large() -> SchemaTooLarge:
    return SchemaTooLarge(f"a request may have {BODY_BYTES_MAX} bytes")
