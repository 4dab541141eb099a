"""The records of ``_schemas``, in Confluent's form, so that another registry can take over.

Keys are compared byte by byte when the topic is compacted: the order of their parts is fixed.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from headrace.model.errors import CorruptRecord
from headrace.schemas.model import (
    ID_MAX,
    Compatibility,
    Kind,
    Mode,
    Reference,
    Registered,
    Schema,
)

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


class HighestIdRecord(NamedTuple):
    """The highest id that was ever given, written when schemas go for good.

    It is the value of a NOOP, which other registries read over: they know no such record, and give
    an id again once compaction has removed its last trace.
    """

    id: int


RegistryRecord = (
    SchemaRecord | CompatibilityRecord | ModeRecord | DeleteSubjectRecord | HighestIdRecord
)
KEY_TYPES: dict[type, str] = {
    CompatibilityRecord: "CONFIG",
    ModeRecord: "MODE",
    DeleteSubjectRecord: "DELETE_SUBJECT",
}


def encode(record: RegistryRecord) -> tuple[bytes, bytes | None]:
    """Key and value."""
    value = _value(record)
    return key_of(record), None if value is None else _json(value)


def key_of(record: RegistryRecord) -> bytes:
    if isinstance(record, SchemaRecord):
        key = {"keytype": "SCHEMA", "subject": record.subject, "version": record.version}
        return _json({**key, "magic": SCHEMA_MAGIC})
    if isinstance(record, HighestIdRecord):
        return _json({"keytype": "NOOP", "magic": OTHER_MAGIC})
    return _json(
        {"keytype": KEY_TYPES[type(record)], "subject": record.subject, "magic": OTHER_MAGIC}
    )


def _value(record: RegistryRecord) -> dict[str, Any] | None:
    if isinstance(record, SchemaRecord):
        return None if record.registered is None else _schema_value(record.registered)
    if isinstance(record, CompatibilityRecord):
        return None if record.level is None else {"compatibilityLevel": record.level.value}
    if isinstance(record, ModeRecord):
        return None if record.mode is None else {"mode": record.mode.value}
    if isinstance(record, HighestIdRecord):
        return {"highestId": record.id}
    return {"subject": record.subject, "version": record.version}


def decode(key: bytes, value: bytes | None) -> RegistryRecord | None:
    """None for kinds of record that are not served; CorruptRecord if unreadable."""
    try:
        return _decode(json.loads(key), None if value is None else json.loads(value))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CorruptRecord(f"unreadable record of the schema registry: {error!r}") from error


def _decode(key: Any, value: Any) -> RegistryRecord | None:
    kind, subject = key["keytype"], key.get("subject")
    if subject is not None and not isinstance(subject, str):
        raise ValueError(f"{subject!r} is no subject")
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
    if kind == "NOOP" and isinstance(value, dict) and "highestId" in value:
        return HighestIdRecord(_whole(value["highestId"]))
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


def _json(value: dict[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def _whole(value: Any) -> int:
    """A number that somebody else may have written: one beyond all ids would leave none to give."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= ID_MAX:
        raise ValueError(f"{value!r} is no whole number up to {ID_MAX}")
    return value
