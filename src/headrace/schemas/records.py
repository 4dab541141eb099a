"""The records of ``_schemas``, in Confluent's form, so that another registry can take over.

Keys are compared byte by byte when the topic is compacted: the order of their parts is fixed.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from headrace.model.errors import CorruptRecord
from headrace.schemas.model import Compatibility, Kind, Mode, Reference, Registered, Schema

SCHEMA_MAGIC = 1
OTHER_MAGIC = 0


class SchemaRecord(NamedTuple):
    """A version of a subject; without ``registered`` it is gone for good."""

    subject: str
    version: int
    registered: Registered | None


class CompatibilityRecord(NamedTuple):
    """The level of a subject, or of all (None). Without ``level`` it is not set any more."""

    subject: str | None
    level: Compatibility | None


class ModeRecord(NamedTuple):
    """The mode of a subject, or of all (None). Without ``mode`` it is not set any more."""

    subject: str | None
    mode: Mode | None


class DeleteSubjectRecord(NamedTuple):
    """All versions of the subject up to this one are soft deleted."""

    subject: str
    version: int


RegistryRecord = SchemaRecord | CompatibilityRecord | ModeRecord | DeleteSubjectRecord


def encode(record: RegistryRecord) -> tuple[bytes, bytes | None]:
    """Key and value."""
    if isinstance(record, SchemaRecord):
        key = {"keytype": "SCHEMA", "subject": record.subject, "version": record.version}
        value = None if record.registered is None else _schema_value(record.registered)
        return _json({**key, "magic": SCHEMA_MAGIC}), None if value is None else _json(value)
    if isinstance(record, CompatibilityRecord):
        level = record.level
        value = None if level is None else {"compatibilityLevel": level.value}
        return _other("CONFIG", record.subject, value)
    if isinstance(record, ModeRecord):
        mode = record.mode
        return _other("MODE", record.subject, None if mode is None else {"mode": mode.value})
    value = {"subject": record.subject, "version": record.version}
    return _other("DELETE_SUBJECT", record.subject, value)


def decode(key: bytes, value: bytes | None) -> RegistryRecord | None:
    """None for NOOP and for kinds of record that are not served; CorruptRecord if unreadable."""
    try:
        return _decode(json.loads(key), None if value is None else json.loads(value))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CorruptRecord(f"unreadable record of the schema registry: {error!r}") from error


def _decode(key: Any, value: Any) -> RegistryRecord | None:
    kind, subject = key["keytype"], key.get("subject")
    if kind == "SCHEMA":
        version = _whole(key["version"])
        registered = None if value is None else _registered(str(subject), version, value)
        return SchemaRecord(str(subject), version, registered)
    if kind == "CONFIG":
        level = None if value is None else value.get("compatibilityLevel")
        return CompatibilityRecord(subject, None if level is None else Compatibility(level))
    if kind == "MODE":
        return ModeRecord(subject, None if value is None else Mode(value["mode"]))
    if kind == "DELETE_SUBJECT" and value is not None:
        return DeleteSubjectRecord(str(subject), _whole(value["version"]))
    return None


def _registered(subject: str, version: int, value: Any) -> Registered:
    references = tuple(
        Reference(str(part["name"]), str(part["subject"]), _whole(part["version"]))
        for part in value.get("references") or ()
    )
    schema = Schema(str(value["schema"]), Kind(value.get("schemaType") or "AVRO"), references)
    return Registered(subject, version, _whole(value["id"]), schema, bool(value.get("deleted")))


def _schema_value(registered: Registered) -> dict[str, Any]:
    schema = registered.schema
    value: dict[str, Any] = {
        "subject": registered.subject,
        "version": registered.version,
        "id": registered.id,
    }
    if schema.kind is not Kind.AVRO:
        value["schemaType"] = schema.kind.value
    if schema.references:
        value["references"] = [reference._asdict() for reference in schema.references]
    return {**value, "schema": schema.text, "deleted": registered.is_deleted}


def _other(
    kind: str, subject: str | None, value: dict[str, Any] | None
) -> tuple[bytes, bytes | None]:
    key = {"keytype": kind, "subject": subject, "magic": OTHER_MAGIC}
    return _json(key), None if value is None else _json(value)


def _json(value: dict[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{value!r} is no whole number")
    return value
