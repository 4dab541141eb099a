"""Schemas as clients see them; only a serialized form has to be worked out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.schemas.confluent_views import SERIALIZED, schema_view, version_view

if TYPE_CHECKING:
    from starlette.requests import Request

    from headrace.frontends.http.registry.writer import Writer
    from headrace.schemas.model import Registered, Schema


async def view_of_version(
    writer: Writer, request: Request, registered: Registered
) -> dict[str, Any]:
    if _is_serialized(request):
        return await writer.ask(lambda state: version_view(state, registered, SERIALIZED))
    return version_view(writer.state, registered, "")


async def view_of_schema(writer: Writer, request: Request, schema: Schema) -> dict[str, Any]:
    if _is_serialized(request):
        return await writer.ask(lambda state: schema_view(state, schema, SERIALIZED))
    return schema_view(writer.state, schema, "")


def _is_serialized(request: Request) -> bool:
    return request.query_params.get("format", "") == SERIALIZED
