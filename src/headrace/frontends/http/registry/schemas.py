"""``/schemas``: by id, or all of them; and which kinds and contexts there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.frontends.http.registry.answers import answer, answer_text
from headrace.frontends.http.registry.requests import flag, page, prefix_of, schema_id_of
from headrace.frontends.http.registry.views import view_of_schema
from headrace.schemas.confluent_views import version_view
from headrace.schemas.kinds import installed_kinds

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from headrace.frontends.http.registry.writer import Writer

LISTED_MAX = 1_000
"""Schemas in one answer; for more, ask again with ``offset``."""


class Schemas:
    """Handlers over one writer."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    async def list_all(self, request: Request) -> Response:
        state, prefix, deleted = self._writer.state, prefix_of(request), flag(request, "deleted")
        newest_only = flag(request, "latestOnly")
        found = [
            registered
            for subject in state.subjects(deleted=deleted)
            if subject.startswith(prefix)
            for registered in state.versions(subject, deleted=deleted)[-1 if newest_only else 0 :]
        ]
        listed = page(request, found, LISTED_MAX)[:LISTED_MAX]
        return answer([version_view(state, registered, "") for registered in listed])

    async def get(self, request: Request) -> Response:
        state = self._writer.state
        view = await view_of_schema(self._writer, request, state.schema(schema_id_of(request)))
        if flag(request, "fetchMaxId"):
            view["maxId"] = state.id_highest
        return answer(view)

    async def get_text(self, request: Request) -> Response:
        schema = self._writer.state.schema(schema_id_of(request))
        return answer_text((await view_of_schema(self._writer, request, schema))["schema"])

    async def list_subjects(self, request: Request) -> Response:
        uses = self._writer.state.uses(schema_id_of(request), deleted=flag(request, "deleted"))
        return answer(page(request, list(dict.fromkeys(use.subject for use in uses))))

    async def list_versions(self, request: Request) -> Response:
        uses = self._writer.state.uses(schema_id_of(request), deleted=flag(request, "deleted"))
        return answer(page(request, [{"subject": u.subject, "version": u.version} for u in uses]))

    async def list_kinds(self, request: Request) -> Response:
        return answer([kind.value for kind in installed_kinds()])

    async def list_contexts(self, request: Request) -> Response:
        return answer(["."])
