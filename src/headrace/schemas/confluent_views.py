"""Schemas and versions in Confluent's JSON, which omits what is the default."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.schemas.model import Kind
from headrace.schemas.resolution import understand

if TYPE_CHECKING:
    from headrace.schemas.model import Registered, Schema
    from headrace.schemas.state import RegistryState

SERIALIZED = "serialized"


def schema_view(state: RegistryState, schema: Schema, form: str) -> dict[str, Any]:
    """``form`` is the query parameter ``format``; only Protobuf has a serialized one."""
    view: dict[str, Any] = {}
    if schema.kind is not Kind.AVRO:
        view["schemaType"] = schema.kind.value
    if schema.references:
        view["references"] = [reference._asdict() for reference in schema.references]
    view["schema"] = schema.text
    if schema.kind is Kind.PROTOBUF and form == SERIALIZED:
        from headrace.schemas.protobuf_schema import ProtobufSchema

        parsed = understand(state, schema)
        assert isinstance(parsed, ProtobufSchema)
        view["schema"] = parsed.serialized
    return view


def version_view(state: RegistryState, registered: Registered, form: str) -> dict[str, Any]:
    view: dict[str, Any] = {
        "subject": registered.subject,
        "version": registered.version,
        "id": registered.id,
        **schema_view(state, registered.schema, form),
    }
    if registered.is_deleted:
        view["deleted"] = True
    return view
