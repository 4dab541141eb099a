"""Answers and refusals, in Confluent's JSON."""

from __future__ import annotations

import json
import logging
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from headrace.model.errors import HeadraceError
from headrace.schemas.confluent_codes import NOT_READY, STORE_ERROR, code_of, status_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request

log = logging.getLogger(__name__)

CONTENT_TYPE = "application/vnd.schemaregistry.v1+json"
RETRY_SECONDS = "1"
CLIENT_GONE = 499
"""Nobody gets it; the framework wants some answer."""


def answer(value: Any, *, status: int = 200) -> Response:
    body = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return Response(body, status_code=status, media_type=CONTENT_TYPE)


def answer_text(text: str) -> Response:
    """A schema as it is."""
    return Response(text, media_type=CONTENT_TYPE)


def refusal(code: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    result = answer({"error_code": code, "message": message}, status=status_of(code))
    result.headers.update(headers or {})
    return result


async def on_refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, HeadraceError)
    code = code_of(error)
    if code == STORE_ERROR:
        log.warning("schema registry: %s: %s", type(error).__name__, error.message)
    headers = {"Retry-After": RETRY_SECONDS} if code == NOT_READY else None
    return refusal(code, error.message, headers)


async def on_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    status = error.status_code
    standard = HTTPStatus(status).phrase
    detail = "" if error.detail == standard else f": {error.detail}"
    return refusal(status, f"HTTP {status} {standard}{detail}", error.headers)


async def on_disconnect(request: Request, error: Exception) -> Response:
    """The client left in the middle of its request: that is no fault of ours to be logged."""
    return Response(status_code=CLIENT_GONE)


async def on_fault(request: Request, error: Exception) -> Response:
    """A fault of ours; the server logs it in full."""
    return refusal(500, "HTTP 500 Internal Server Error")


ERROR_HANDLERS = {
    HTTPException: on_http_error,
    HeadraceError: on_refusal,
    ClientDisconnect: on_disconnect,
    Exception: on_fault,
}
