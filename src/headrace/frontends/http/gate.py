"""What stands before the pages of an HTTP listener: nobody passes without saying who he is.

Only ``/health`` is open, since those who ask for it have no name. Where no log-in is asked for,
everybody is the user ANONYMOUS, as on a plain Kafka listener.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from headrace.security.acl import ANONYMOUS

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from headrace.frontends.http.basic_log_in import BasicLogIn
    from headrace.security.acl import Principal

PRINCIPAL = "headrace.principal"
"""Where in the scope of a request its sender is noted."""
OPEN_PATHS = ("/health",)
CHALLENGE = b'Basic realm="headrace", charset="UTF-8"'
_BODY = json.dumps({"error_code": 401, "message": "HTTP 401 Unauthorized"}).encode()
_HEADERS = [
    (b"content-type", b"application/vnd.schemaregistry.v1+json"),
    (b"content-length", str(len(_BODY)).encode()),
    (b"www-authenticate", CHALLENGE),
]


class Gate:
    """An ASGI application around another."""

    def __init__(self, application: ASGIApp, log_in: BasicLogIn) -> None:
        self._application = application
        self._log_in = log_in

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] not in OPEN_PATHS:
            found = [value for name, value in scope["headers"] if name == b"authorization"]
            header = found[0] if len(found) == 1 else None
            principal = await self._log_in.maybe_principal(header, host_of(scope))
            if principal is None:
                await _challenge(send)
                return
            scope = {**scope, PRINCIPAL: principal}
        await self._application(scope, receive, send)


def principal_of(scope: Scope) -> Principal:
    principal: Principal = scope.get(PRINCIPAL, ANONYMOUS)
    return principal


def host_of(scope: Scope) -> str:
    """The address that the request came from, as access rules name it."""
    client = scope.get("client")
    return client[0] if client else ""


async def _challenge(send: Send) -> None:
    await send({"type": "http.response.start", "status": 401, "headers": _HEADERS})
    await send({"type": "http.response.body", "body": _BODY})
