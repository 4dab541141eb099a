"""``/subjects``: what is registered under which name, and registering more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.frontends.http.registry.answers import answer, answer_text
from headrace.frontends.http.registry.requests import (
    flag,
    page,
    prefix_of,
    read_body,
    subject_of,
    version_of,
)
from headrace.frontends.http.registry.views import view_of_version
from headrace.schemas import decisions
from headrace.schemas.confluent_bodies import read_schema, read_wish
from headrace.schemas.errors import SubjectNotFound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.requests import Request
    from starlette.responses import Response

    from headrace.frontends.http.registry.writer import Writer
    from headrace.schemas.model import Registered
    from headrace.schemas.records import RegistryRecord
    from headrace.schemas.state import RegistryState


class Subjects:
    """Handlers over one writer."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    async def list_all(self, request: Request) -> Response:
        only = flag(request, "deletedOnly", "deleted_only")
        found = self._writer.state.subjects(deleted=flag(request, "deleted"), deleted_only=only)
        prefix = prefix_of(request)
        return answer(page(request, [name for name in found if name.startswith(prefix)]))

    async def list_versions(self, request: Request) -> Response:
        subject = subject_of(request)
        only = flag(request, "deletedOnly", "deleted_only")
        found = self._writer.state.versions(subject, deleted=only or flag(request, "deleted"))
        numbers = [r.version for r in found if r.is_deleted or not only]
        if not numbers:
            raise SubjectNotFound(subject)
        return answer(page(request, numbers))

    async def get_version(self, request: Request) -> Response:
        return answer(await view_of_version(self._writer, request, self._version(request)))

    async def get_version_text(self, request: Request) -> Response:
        view = await view_of_version(self._writer, request, self._version(request))
        return answer_text(view["schema"])

    async def list_referrers(self, request: Request) -> Response:
        state = self._writer.state
        found = state.version(subject_of(request), version_of(request))
        referrers = state.referrers(found.subject, found.version)
        return answer(page(request, sorted({referrer.id for referrer in referrers})))

    async def register(self, request: Request) -> Response:
        subject = subject_of(request)
        wish = read_wish(await read_body(request), normalize=flag(request, "normalize"))

        def decide(state: RegistryState) -> tuple[Sequence[RegistryRecord], Registered]:
            return decisions.decide_registration(state, subject, wish)

        registered = await self._writer.change(decide)
        return answer({"id": registered.id})

    async def look_up(self, request: Request) -> Response:
        subject, schema = subject_of(request), read_schema(await read_body(request))
        normalize, deleted = flag(request, "normalize"), flag(request, "deleted")
        found = await self._writer.ask(
            lambda state: decisions.find_registered(
                state, subject, schema, normalize=normalize, deleted=deleted
            )
        )
        return answer(await view_of_version(self._writer, request, found))

    async def delete(self, request: Request) -> Response:
        subject, permanent = subject_of(request), flag(request, "permanent")
        numbers = await self._writer.change(
            lambda state: decisions.decide_subject_deletion(state, subject, permanent=permanent)
        )
        return answer(numbers)

    async def delete_version(self, request: Request) -> Response:
        subject, version = subject_of(request), version_of(request)
        permanent = flag(request, "permanent")

        def decide(state: RegistryState) -> tuple[Sequence[RegistryRecord], Registered]:
            return decisions.decide_version_deletion(state, subject, version, permanent=permanent)

        deleted = await self._writer.change(decide)
        return answer(deleted.version)

    def _version(self, request: Request) -> Registered:
        return self._writer.state.version(
            subject_of(request), version_of(request), deleted=flag(request, "deleted")
        )
