"""The registry as one ASGI application: which path leads to which handler.

Paths are matched as they were sent: a ``/`` in a subject comes as ``%2F``, and decoded it would
look like the end of the subject.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.routing import Route

from headrace.frontends.http.registry.answers import ERROR_HANDLERS, answer, refusal
from headrace.frontends.http.registry.permissions import operation_of, raise_if_denied
from headrace.frontends.http.registry.schemas import Schemas
from headrace.frontends.http.registry.settings import Settings
from headrace.frontends.http.registry.subjects import Subjects
from headrace.frontends.http.registry.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

    from headrace.broker.access import AccessControl
    from headrace.broker.schema_store import SchemaStore

    Handler = Callable[[Request], Awaitable[Response]]

READING = ("GET", "HEAD")


def registry_application(store: SchemaStore, access: AccessControl | None = None) -> ASGIApp:
    """What a listener mounts behind its own pages. All listeners share one: it is the writer."""
    routes = [route(path, handlers, access) for path, handlers in table(Writer(store)).items()]
    return Doorway(Starlette(routes=routes, exception_handlers=ERROR_HANDLERS))


def table(writer: Writer) -> dict[str, dict[str, Handler]]:
    """Every path of the API, with its methods."""
    subjects, schemas, settings = Subjects(writer), Schemas(writer), Settings(writer)
    level: dict[str, Handler] = {
        "GET": settings.get_level,
        "PUT": settings.put_level,
        "DELETE": settings.delete_level,
    }
    mode: dict[str, Handler] = {"GET": settings.get_mode, "PUT": settings.put_mode}
    version = "/subjects/{subject}/versions/{version}"
    check = "/compatibility/subjects/{subject}/versions"
    return {
        "/": {"GET": _get_nothing},
        "/subjects": {"GET": subjects.list_all},
        "/subjects/{subject}": {"POST": subjects.look_up, "DELETE": subjects.delete},
        "/subjects/{subject}/versions": {
            "GET": subjects.list_versions,
            "POST": subjects.register,
        },
        version: {"GET": subjects.get_version, "DELETE": subjects.delete_version},
        f"{version}/schema": {"GET": subjects.get_version_text},
        f"{version}/referencedby": {"GET": subjects.list_referrers},
        "/schemas": {"GET": schemas.list_all},
        "/schemas/types": {"GET": schemas.list_kinds},
        "/schemas/ids/{id}": {"GET": schemas.get},
        "/schemas/ids/{id}/schema": {"GET": schemas.get_text},
        "/schemas/ids/{id}/subjects": {"GET": schemas.list_subjects},
        "/schemas/ids/{id}/versions": {"GET": schemas.list_versions},
        "/contexts": {"GET": schemas.list_contexts},
        check: {"POST": settings.check_all_versions},
        f"{check}/{{version}}": {"POST": settings.check_version},
        "/config": level,
        "/config/{subject}": level,
        "/mode": mode,
        "/mode/{subject}": {**mode, "DELETE": settings.delete_mode},
    }


def route(path: str, handlers: Mapping[str, Handler], access: AccessControl | None) -> Route:
    """One route for all methods of a path, so that a refusal can name them all."""

    async def handle(request: Request) -> Response:
        raise_if_denied(access, request.scope, operation_of(request.method, path))
        method = "GET" if request.method == "HEAD" else request.method
        return await handlers[method](request)

    return Route(path, handle, methods=list(handlers))


async def _get_nothing(request: Request) -> Response:
    """What Confluent's registry says of itself; scripts ask for it to see that it is there."""
    return answer({})


class Doorway:
    """What is settled before a path is matched."""

    def __init__(self, application: ASGIApp) -> None:
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] not in READING and _names_an_origin(scope):
            # Only browsers send it: a page from elsewhere must not change what listens here.
            refused = refusal(403, "HTTP 403 Forbidden: not from a web page")
            await refused(scope, receive, send)
            return
        raw: bytes = scope.get("raw_path") or scope["path"].encode()
        path = raw.partition(b"?")[0].decode("latin-1")
        scope = {**scope, "path": path.rstrip("/") or "/"}
        await self._application(scope, receive, send)


def _names_an_origin(scope: Scope) -> bool:
    return any(name == b"origin" for name, _ in scope["headers"])
