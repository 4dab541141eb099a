"""Reads the schemas out of the `kio` package, whose dataclasses mirror Kafka's own definitions.

kio turns durations, points in time and error codes into Python objects and drops the unit from
their names. Ours stay plain integers under Kafka's own names, so both are restored here.
"""

from __future__ import annotations

import dataclasses
import datetime
import importlib
import pkgutil
import types
import typing
from typing import Any

import kio.schema
from kio.schema.index import api_key_map

from kafka_codecs.schema import KINDS, ZERO_UUID, Api, Field, Kind, Message, Shape, Struct

CLIENT_LISTENER_KEYS = (
    *range(0, 4),
    *range(8, 52),
    *(55, 57, 60, 61, 64, 65, 66, 68, 69, 71, 72),
    *range(74, 80),
    *range(88, 93),
)
STORED_MESSAGES = ("consumer_protocol_assignment", "consumer_protocol_subscription")

RENAMED_KINDS = {
    "error_code": "int16",
    "timedelta_i32": "int32",
    "timedelta_i64": "int64",
    "datetime_i64": "int64",
}
# What a client sends is in memory; what we answer may be a piece of a file.
REQUEST_RECORDS = dataclasses.replace(KINDS["records"], annotation="Buffer | None")
# Kafka's DescribeDelegationToken says "IssueTimestamp" where all others say "...Ms".
APIS_WITH_TIMESTAMPS_WITHOUT_UNIT = {"describe_delegation_token"}
# kio loses the schema default "null" of arrays of structs.
NULL_BY_DEFAULT = {
    ("consumer_group_heartbeat", "topic_partitions"),
    ("list_partition_reassignments", "topics"),
    ("streams_group_describe", "subtopologies"),
    ("streams_group_heartbeat", "active_tasks"),
    ("streams_group_heartbeat", "client_tags"),
    ("streams_group_heartbeat", "partitions_by_user_endpoint"),
    ("streams_group_heartbeat", "standby_tasks"),
    ("streams_group_heartbeat", "status"),
    ("streams_group_heartbeat", "task_end_offsets"),
    ("streams_group_heartbeat", "task_offsets"),
    ("streams_group_heartbeat", "warmup_tasks"),
}


def load_apis() -> list[Api]:
    return [load_api(key, api_key_map[key]) for key in CLIENT_LISTENER_KEYS]


def load_stored_messages() -> dict[str, Message]:
    return {name: load_message(name, "data", frozenset()) for name in STORED_MESSAGES}


def load_api(key: int, name: str) -> Api:
    requests = entities(name, "request")
    responses = entities(name, "response")
    request_names = {entity.__name__ for root in requests.values() for entity in walk(root)}
    response_names = {entity.__name__ for root in responses.values() for entity in walk(root)}
    shared = frozenset(request_names & response_names)
    return Api(
        key=key,
        name=name,
        request=load_message(name, "request", shared),
        response=load_message(name, "response", shared),
        first_flexible_request=first_flexible(requests, header_version=2),
        first_flexible_response=first_flexible(responses, header_version=1),
    )


def first_flexible(roots: dict[int, Any], header_version: int) -> int | None:
    """The first version whose *header* has tagged fields (never, for ApiVersions' response)."""
    versions = [
        version
        for version, root in roots.items()
        if root.__header_schema__.__version__ == header_version
    ]
    return min(versions, default=None)


def entities(name: str, direction: str) -> dict[int, Any]:
    package = importlib.import_module(f"kio.schema.{name}")
    versions = sorted(int(module.name[1:]) for module in pkgutil.iter_modules(package.__path__))
    return {version: root_entity(name, version, direction) for version in versions}


def root_entity(name: str, version: int, direction: str) -> Any:
    module = importlib.import_module(f"{kio.schema.__name__}.{name}.v{version}.{direction}")
    defined = [
        value
        for value in vars(module).values()
        if dataclasses.is_dataclass(value) and getattr(value, "__module__", "") == module.__name__
    ]
    return defined[-1]


def walk(entity: Any) -> list[Any]:
    """The entity and every entity nested in it."""
    found = [entity]
    for hint in typing.get_type_hints(entity).values():
        nested = entity_in(hint)
        if nested is not None:
            found.extend(walk(nested))
    return found


def entity_in(hint: Any) -> Any:
    if dataclasses.is_dataclass(hint):
        return hint
    for argument in typing.get_args(hint):
        if dataclasses.is_dataclass(argument) or typing.get_origin(argument) is tuple:
            return entity_in(argument)
    return None


def load_message(name: str, direction: str, shared_names: frozenset[str]) -> Message:
    reader = StructReader(name, direction, shared_names)
    roots = entities(name, direction)
    versions = {version: reader.struct(root) for version, root in roots.items()}
    return Message(name=versions[max(versions)].name, versions=versions)


@dataclasses.dataclass(frozen=True)
class StructReader:
    """Turns kio's dataclasses of one message into our schema values."""

    api_name: str
    direction: str
    shared_names: frozenset[str]

    def struct(self, entity: Any) -> Struct:
        hints = typing.get_type_hints(entity)
        return Struct(
            name=self.class_name(entity.__name__),
            fields=tuple(self.field(item, hints[item.name]) for item in dataclasses.fields(entity)),
            is_flexible=bool(entity.__flexible__),
        )

    def class_name(self, name: str) -> str:
        """Request and response live in one module: a name both use is told apart."""
        return self.direction.title() + name if name in self.shared_names else name

    def field(self, item: dataclasses.Field[Any], hint: Any) -> Field:
        kafka_type = item.metadata.get("kafka_type", "struct")
        kind = KINDS[RENAMED_KINDS.get(kafka_type, kafka_type)]
        if kind.shape is Shape.RECORDS and self.direction == "request":
            kind = REQUEST_RECORDS
        entity = entity_in(hint)
        struct = None if entity is None else self.struct(entity)
        is_array, accepts_none = array_and_none(hint)
        is_nullable = accepts_none and not (kind.code and not is_array)
        default = self.default(item, kind, struct, is_array, is_nullable)
        name = self.field_name(item.name, kafka_type)
        return Field(name, kind, struct, is_array, is_nullable, item.metadata.get("tag"), default)

    def field_name(self, name: str, kafka_type: str) -> str:
        if kafka_type.startswith("timedelta"):
            return f"{name}_ms"
        if kafka_type == "datetime_i64" and self.api_name not in APIS_WITH_TIMESTAMPS_WITHOUT_UNIT:
            return f"{name}_ms"
        return name

    def default(
        self,
        item: dataclasses.Field[Any],
        kind: Kind,
        struct: Struct | None,
        is_array: bool,
        is_nullable: bool,
    ) -> str:
        if is_nullable and (self.api_name, item.name) in NULL_BY_DEFAULT:
            return "None"
        if item.default is not dataclasses.MISSING:
            return literal(item.default, kind, is_array)
        if is_array:
            return "()"
        if kind.shape is Shape.RECORDS and not is_nullable:
            return 'b""'
        return "None" if struct is not None and is_nullable else kind.default


def array_and_none(hint: Any) -> tuple[bool, bool]:
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        arguments = typing.get_args(hint)
        return any(typing.get_origin(item) is tuple for item in arguments), True
    return typing.get_origin(hint) is tuple, False


def literal(value: Any, kind: Kind, is_array: bool) -> str:
    """The source text of a default; tagged structs are None when they equal their default."""
    if dataclasses.is_dataclass(value) or (value is None and (is_array or not kind.code)):
        return "None"
    if value is None:
        return ZERO_UUID if kind.default == ZERO_UUID else "-1"
    if isinstance(value, datetime.timedelta):
        return str(round(value / datetime.timedelta(milliseconds=1)))
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, str):
        return '"' + value + '"'
    if value == ():
        return "()"
    raise ValueError(f"no source text for the default {value!r}")
