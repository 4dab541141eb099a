"""Confluent's schema registry as an ASGI application: mount it behind the listener's own routes.

Handlers translate; ``headrace.schemas`` decides. There is one writer at a time. A decision may take
long (parsing, comparing with many versions), so it runs in a thread while the writer's turn is
held: it only reads the state, which nobody else changes meanwhile.
"""

from __future__ import annotations

import asyncio
import json
import logging
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Route

from headrace.model.errors import HeadraceError
from headrace.schemas import decisions
from headrace.schemas.confluent_bodies import (
    parse_version,
    read_level,
    read_mode,
    read_schema,
    read_wish,
)
from headrace.schemas.confluent_codes import STORE_ERROR, code_of, status_of
from headrace.schemas.confluent_views import SERIALIZED, schema_view, version_view
from headrace.schemas.errors import (
    InvalidSubject,
    SchemaNotFound,
    SchemaTooLarge,
    SubjectCompatibilityNotConfigured,
    SubjectModeNotConfigured,
    SubjectNotFound,
    VersionNotFound,
)
from headrace.schemas.model import ID_MAX, Kind
from headrace.schemas.resolution import canonical_form
from headrace.schemas.state import DEFAULT_COMPATIBILITY, LATEST

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

    from headrace.broker.schema_store import SchemaStore
    from headrace.schemas.records import RegistryRecord
    from headrace.schemas.state import RegistryState

log = logging.getLogger(__name__)

T = TypeVar("T")

CONTENT_TYPE = "application/vnd.schemaregistry.v1+json"
BODY_BYTES_MAX = 2_000_000
"""A schema of the allowed size, escaped, with its references."""
MEDIA_TYPES = (
    "application/vnd.schemaregistry.v1+json",
    "application/vnd.schemaregistry+json",
    "application/json",
    "application/octet-stream",
)


class SchemaRegistry:
    """The handlers, over one store."""

    def __init__(self, store: SchemaStore) -> None:
        self._store = store
        self._turn = asyncio.Lock()

    @property
    def _state(self) -> RegistryState:
        return self._store.state

    async def _write(self, records: Sequence[RegistryRecord]) -> None:
        """Commit, and wait until a crash cannot take it back. Hold ``_turn`` meanwhile."""
        durable = asyncio.get_running_loop().create_future()

        def done(error: BaseException | None) -> None:
            if durable.done():
                return  # the client has gone
            if error is None:
                durable.set_result(None)
            else:
                durable.set_exception(error)

        self._store.when_durable(self._store.commit(records), done)
        await durable

    async def _think(self, work: Callable[[], T]) -> T:
        """Run a long decision off the loop; the caller holds ``_turn``."""
        return await asyncio.to_thread(work)

    # --- subjects and versions ------------------------------------------------------------------

    async def list_subjects(self, request: Request) -> Response:
        only = flag(request, "deletedOnly") or flag(request, "deleted_only")
        found = self._state.subjects(deleted=flag(request, "deleted"), deleted_only=only)
        prefix = request.query_params.get("subjectPrefix", "")
        # Confluent's default prefix means the default context and all that is in it.
        if prefix not in ("", ":*:"):
            found = [subject for subject in found if subject.startswith(prefix)]
        return answer(page(request, found))

    async def list_versions(self, request: Request) -> Response:
        subject = subject_of(request)
        only = flag(request, "deletedOnly") or flag(request, "deleted_only")
        found = self._state.versions(subject, deleted=only or flag(request, "deleted"))
        numbers = [r.version for r in found if r.is_deleted or not only]
        if not numbers:
            raise SubjectNotFound(subject)
        return answer(page(request, numbers))

    async def get_version(self, request: Request) -> Response:
        found = self._state.version(
            subject_of(request), version_of(request), deleted=flag(request, "deleted")
        )
        return answer(
            await self._view(request, lambda form: version_view(self._state, found, form))
        )

    async def get_version_text(self, request: Request) -> Response:
        found = self._state.version(
            subject_of(request), version_of(request), deleted=flag(request, "deleted")
        )
        view = await self._view(request, lambda form: version_view(self._state, found, form))
        return answer(view["schema"], is_text=True)

    async def list_referrers(self, request: Request) -> Response:
        found = self._state.version(subject_of(request), version_of(request))
        referrers = self._state.referrers(found.subject, found.version)
        return answer(page(request, sorted({referrer.id for referrer in referrers})))

    async def register(self, request: Request) -> Response:
        subject, wish = (
            subject_of(request),
            read_wish(await read_body(request), normalize=flag(request, "normalize")),
        )
        async with self._turn:
            decision = await self._think(
                lambda: decisions.decide_registration(self._state, subject, wish)
            )
            await self._write(decision.records)
        return answer({"id": decision.registered.id})

    async def look_up(self, request: Request) -> Response:
        subject, schema = subject_of(request), read_schema(await read_body(request))
        async with self._turn:
            found = await self._think(
                lambda: decisions.find_registered(
                    self._state,
                    subject,
                    schema,
                    normalize=flag(request, "normalize"),
                    deleted=flag(request, "deleted"),
                )
            )
        return answer(
            await self._view(request, lambda form: version_view(self._state, found, form))
        )

    async def delete_subject(self, request: Request) -> Response:
        async with self._turn:
            records, numbers = decisions.decide_subject_deletion(
                self._state, subject_of(request), permanent=flag(request, "permanent")
            )
            await self._write(records)
        return answer(numbers)

    async def delete_version(self, request: Request) -> Response:
        async with self._turn:
            decision = decisions.decide_version_deletion(
                self._state,
                subject_of(request),
                version_of(request),
                permanent=flag(request, "permanent"),
            )
            await self._write(decision.records)
        return answer(decision.registered.version)

    async def _view(
        self, request: Request, make: Callable[[str], dict[str, Any]]
    ) -> dict[str, Any]:
        """Only a serialized form has to be computed; all else is at hand and waits for nobody."""
        form = request.query_params.get("format", "")
        if form != SERIALIZED:
            return make("")
        async with self._turn:
            return await self._think(lambda: make(form))

    # --- ids ------------------------------------------------------------------------------------

    async def get_schema(self, request: Request) -> Response:
        schema_id = schema_id_of(request)
        schema = self._state.schema(schema_id)
        view = await self._view(request, lambda form: schema_view(self._state, schema, form))
        if flag(request, "fetchMaxId"):
            view["maxId"] = self._state.id_highest
        return answer(view)

    async def get_schema_text(self, request: Request) -> Response:
        schema = self._state.schema(schema_id_of(request))
        view = await self._view(request, lambda form: schema_view(self._state, schema, form))
        return answer(view["schema"], is_text=True)

    async def list_subjects_of_id(self, request: Request) -> Response:
        uses = self._state.uses(schema_id_of(request), deleted=flag(request, "deleted"))
        return answer(page(request, list(dict.fromkeys(use.subject for use in uses))))

    async def list_versions_of_id(self, request: Request) -> Response:
        uses = self._state.uses(schema_id_of(request), deleted=flag(request, "deleted"))
        found = [{"subject": use.subject, "version": use.version} for use in uses]
        return answer(page(request, found))

    async def list_types(self, request: Request) -> Response:
        return answer([kind.value for kind in (Kind.JSON, Kind.PROTOBUF, Kind.AVRO)])

    async def list_contexts(self, request: Request) -> Response:
        return answer(["."])

    # --- compatibility --------------------------------------------------------------------------

    async def check_version(self, request: Request) -> Response:
        subject, version = subject_of(request), version_of(request)
        try:
            earlier = [self._state.version(subject, version)]
        except SubjectNotFound:
            if version != LATEST:
                raise VersionNotFound(version) from None
            earlier = []
        return await self._check(request, earlier)

    async def check_all_versions(self, request: Request) -> Response:
        return await self._check(request, self._state.versions(subject_of(request), deleted=False))

    async def _check(self, request: Request, earlier: Sequence[Any]) -> Response:
        subject, wished = subject_of(request), read_schema(await read_body(request))

        def work() -> list[str]:
            schema = canonical_form(self._state, wished, normalize=flag(request, "normalize"))
            return decisions.compatibility_problems(self._state, subject, schema, earlier)

        async with self._turn:
            problems = await self._think(work)
        result: dict[str, Any] = {"is_compatible": not problems}
        if flag(request, "verbose"):
            result["messages"] = problems
        return answer(result)

    async def get_level(self, request: Request) -> Response:
        subject = subject_of(request, optional=True)
        is_set = subject is None or subject in self._state.levels
        if subject is not None and not is_set and not flag(request, "defaultToGlobal"):
            raise SubjectCompatibilityNotConfigured(subject)
        return answer({"compatibilityLevel": self._state.level(subject).value})

    async def put_level(self, request: Request) -> Response:
        subject, level = subject_of(request, optional=True), read_level(await read_body(request))
        async with self._turn:
            await self._write(decisions.decide_level(subject, level))
        return answer({"compatibility": level.value})

    async def delete_level(self, request: Request) -> Response:
        subject = subject_of(request, optional=True)
        async with self._turn:
            before = self._state.levels.get(subject, DEFAULT_COMPATIBILITY)
            await self._write(decisions.decide_level_removal(self._state, subject))
        return answer({"compatibilityLevel": before.value})

    # --- modes ----------------------------------------------------------------------------------

    async def get_mode(self, request: Request) -> Response:
        subject = subject_of(request, optional=True)
        is_set = subject is None or subject in self._state.modes
        if subject is not None and not is_set and not flag(request, "defaultToGlobal"):
            raise SubjectModeNotConfigured(subject)
        return answer({"mode": self._state.mode(subject).value})

    async def put_mode(self, request: Request) -> Response:
        subject, mode = subject_of(request, optional=True), read_mode(await read_body(request))
        async with self._turn:
            records = decisions.decide_mode(
                self._state, subject, mode, force=flag(request, "force")
            )
            await self._write(records)
        return answer({"mode": mode.value})

    async def delete_mode(self, request: Request) -> Response:
        subject = subject_of(request)
        async with self._turn:
            before = self._state.mode(subject)
            await self._write(decisions.decide_mode_removal(self._state, subject))
        return answer({"mode": before.value})


# --- requests and answers -----------------------------------------------------------------------


def flag(request: Request, name: str) -> bool:
    return request.query_params.get(name, "").lower() == "true"


def page(request: Request, found: list[T]) -> list[T]:
    """``offset`` and ``limit``; a negative limit means all."""
    offset, limit = _number(request, "offset", 0), _number(request, "limit", -1)
    end = len(found) if limit < 0 else max(offset, 0) + limit
    return found[max(offset, 0) : end]


def _number(request: Request, name: str, default: int) -> int:
    text = request.query_params.get(name)
    if text is None:
        return default
    try:
        return int(text)
    except ValueError as error:
        raise HTTPException(400, f"{name} is not a number") from error


def subject_of(request: Request, *, optional: bool = False) -> Any:
    raw = request.path_params.get("subject")
    if raw is None and optional:
        return None
    try:
        return unquote(raw or "", errors="strict")
    except UnicodeDecodeError as error:
        raise InvalidSubject(f"The specified subject '{raw}' is not valid") from error


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
    """A JSON object of bounded size."""
    media_type = request.headers.get("content-type", MEDIA_TYPES[0]).partition(";")[0].strip()
    if media_type.lower() not in MEDIA_TYPES:
        raise HTTPException(415)
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > BODY_BYTES_MAX:
            raise SchemaTooLarge(f"a request may have {BODY_BYTES_MAX} bytes")
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, "the body is no JSON") from error
    if not isinstance(value, dict):
        raise HTTPException(400, "the body is no JSON object")
    return value


def answer(value: Any, *, status: int = 200, is_text: bool = False) -> Response:
    """JSON, or a schema's text as it is."""
    body = value if is_text else json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return Response(body, status_code=status, media_type=CONTENT_TYPE)


async def on_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HeadraceError)
    code = code_of(error)
    if code == STORE_ERROR:
        log.warning("schema registry: %s: %s", type(error).__name__, error.message)
    return refusal(code, error.message)


async def on_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    status = error.status_code
    standard = HTTPStatus(status).phrase
    detail = "" if error.detail == standard else f": {error.detail}"
    return refusal(status, f"HTTP {status} {standard}{detail}", error.headers)


def refusal(code: int, message: str, headers: Any = None) -> Response:
    result = answer({"error_code": code, "message": message}, status=status_of(code))
    result.headers.update(headers or {})
    return result


# --- routes -------------------------------------------------------------------------------------


def registry_routes(registry: SchemaRegistry) -> list[Route]:
    """Every path of the API. Subjects are single segments: a ``/`` in one comes as ``%2F``."""
    subject = "/subjects/{subject}"
    version = subject + "/versions/{version}"
    check = "/compatibility" + subject + "/versions"
    by_id = "/schemas/ids/{id}"
    return [
        Route("/subjects", registry.list_subjects, methods=["GET"]),
        Route(subject, registry.look_up, methods=["POST"]),
        Route(subject, registry.delete_subject, methods=["DELETE"]),
        Route(subject + "/versions", registry.list_versions, methods=["GET"]),
        Route(subject + "/versions", registry.register, methods=["POST"]),
        Route(version, registry.get_version, methods=["GET"]),
        Route(version, registry.delete_version, methods=["DELETE"]),
        Route(version + "/schema", registry.get_version_text, methods=["GET"]),
        Route(version + "/referencedby", registry.list_referrers, methods=["GET"]),
        Route("/schemas/types", registry.list_types, methods=["GET"]),
        Route("/contexts", registry.list_contexts, methods=["GET"]),
        Route(by_id, registry.get_schema, methods=["GET"]),
        Route(by_id + "/schema", registry.get_schema_text, methods=["GET"]),
        Route(by_id + "/subjects", registry.list_subjects_of_id, methods=["GET"]),
        Route(by_id + "/versions", registry.list_versions_of_id, methods=["GET"]),
        Route(check, registry.check_all_versions, methods=["POST"]),
        Route(check + "/{version}", registry.check_version, methods=["POST"]),
        *(
            Route(path + suffix, handler, methods=[method])
            for suffix in ("", "/{subject}")
            for path, method, handler in (
                ("/config", "GET", registry.get_level),
                ("/config", "PUT", registry.put_level),
                ("/config", "DELETE", registry.delete_level),
                ("/mode", "GET", registry.get_mode),
                ("/mode", "PUT", registry.put_mode),
            )
        ),
        Route("/mode/{subject}", registry.delete_mode, methods=["DELETE"]),
    ]


class _RawPaths:
    """Routes by the path as it was sent: a decoded ``%2F`` in a subject would look like ``/``."""

    def __init__(self, application: ASGIApp) -> None:
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        raw = scope.get("raw_path")
        if raw is not None:
            scope = {**scope, "path": raw.partition(b"?")[0].decode("latin-1")}
        await self._application(scope, receive, send)


def registry_application(store: SchemaStore) -> ASGIApp:
    """What the listener mounts, after its own routes, with ``Mount("", ...)``."""
    application = Starlette(
        routes=registry_routes(SchemaRegistry(store)),
        exception_handlers={HTTPException: on_http_error, HeadraceError: on_error},
    )
    return _RawPaths(application)
