"""``/config``, ``/mode`` and ``/compatibility``: which schemas may follow which, and who asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.frontends.http.registry.answers import answer
from headrace.frontends.http.registry.requests import (
    flag,
    maybe_subject_of,
    read_body,
    subject_of,
    version_of,
)
from headrace.schemas import decisions
from headrace.schemas.confluent_bodies import read_level, read_mode, read_schema
from headrace.schemas.errors import (
    SubjectCompatibilityNotConfigured,
    SubjectModeNotConfigured,
    SubjectNotFound,
    VersionNotFound,
)
from headrace.schemas.resolution import canonical_form
from headrace.schemas.state import DEFAULT_COMPATIBILITY, LATEST

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from starlette.requests import Request
    from starlette.responses import Response

    from headrace.frontends.http.registry.writer import Writer
    from headrace.schemas.model import Registered
    from headrace.schemas.state import RegistryState


class Settings:
    """Handlers over one writer."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    # --- compatibility --------------------------------------------------------------------------

    async def check_version(self, request: Request) -> Response:
        subject, version = subject_of(request), version_of(request)

        def earlier(state: RegistryState) -> Sequence[Registered]:
            try:
                return [state.version(subject, version)]
            except SubjectNotFound:
                if version != LATEST:
                    raise VersionNotFound(version) from None
                return []

        return await self._check(request, earlier)

    async def check_all_versions(self, request: Request) -> Response:
        subject = subject_of(request)
        return await self._check(request, lambda state: state.versions(subject, deleted=False))

    async def _check(
        self, request: Request, earlier: Callable[[RegistryState], Sequence[Registered]]
    ) -> Response:
        subject, wished = subject_of(request), read_schema(await read_body(request))
        normalize = flag(request, "normalize")

        def problems_of(state: RegistryState) -> list[str]:
            versions = earlier(state)
            schema = canonical_form(state, wished, normalize=normalize)
            return decisions.compatibility_problems(state, subject, schema, versions)

        problems = await self._writer.ask(problems_of)
        result: dict[str, Any] = {"is_compatible": not problems}
        if flag(request, "verbose"):
            result["messages"] = problems
        return answer(result)

    # --- levels ---------------------------------------------------------------------------------

    async def get_level(self, request: Request) -> Response:
        subject, state = maybe_subject_of(request), self._writer.state
        is_set = subject is None or subject in state.levels
        if subject is not None and not is_set and not flag(request, "defaultToGlobal"):
            raise SubjectCompatibilityNotConfigured(subject)
        return answer({"compatibilityLevel": state.level(subject).value})

    async def put_level(self, request: Request) -> Response:
        subject, level = maybe_subject_of(request), read_level(await read_body(request))
        await self._writer.change(lambda state: (decisions.decide_level(subject, level), None))
        return answer({"compatibility": level.value})

    async def delete_level(self, request: Request) -> Response:
        subject = maybe_subject_of(request)
        before = await self._writer.change(
            lambda state: (
                decisions.decide_level_removal(state, subject),
                state.levels.get(subject, DEFAULT_COMPATIBILITY),
            )
        )
        return answer({"compatibilityLevel": before.value})

    # --- modes ----------------------------------------------------------------------------------

    async def get_mode(self, request: Request) -> Response:
        subject, state = maybe_subject_of(request), self._writer.state
        is_set = subject is None or subject in state.modes
        if subject is not None and not is_set and not flag(request, "defaultToGlobal"):
            raise SubjectModeNotConfigured(subject)
        return answer({"mode": state.mode(subject).value})

    async def put_mode(self, request: Request) -> Response:
        subject, mode = maybe_subject_of(request), read_mode(await read_body(request))
        force = flag(request, "force")
        await self._writer.change(
            lambda state: (decisions.decide_mode(state, subject, mode, force=force), None)
        )
        return answer({"mode": mode.value})

    async def delete_mode(self, request: Request) -> Response:
        subject = subject_of(request)
        before = await self._writer.change(
            lambda state: (decisions.decide_mode_removal(state, subject), state.mode(subject))
        )
        return answer({"mode": before.value})
