"""Broker options about table topics: topics that are also kept as tables in a lake."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from urllib.parse import urlsplit

from headrace.config import declare
from headrace.config.declare import LOW
from headrace.model.errors import InvalidConfig

NO_TABLE = "none"
TABLE_OPTIONS_PREFIX = "headrace.table."
TABLE_SCHEMAS = (
    "raw, json, json-schema:FILE, avro:FILE, protobuf:FILE:MESSAGE, registry or registry:URL"
)


@dataclass(frozen=True, kw_only=True)
class TableSettings:
    """Part of ``BrokerConfig``."""

    table_locations: tuple[str, ...] = declare.items(
        "headrace.table.locations",
        "",
        "Where tables of topics may be: directories or URLs that a location must begin with; "
        "empty for anywhere that the broker's user may write to.",
    )
    table_client_config: str | None = declare.optional_text(
        "headrace.table.client.config",
        "File of client settings (NAME=VALUE lines) with which the jobs of table topics connect "
        "to this broker; needed where every listener asks for a log-in or for TLS.",
    )
    table_spark_master: str | None = declare.optional_text(
        "headrace.table.spark.master",
        "Spark master of the jobs of table topics; half of this machine's cores if it is not set.",
        importance=LOW,
    )


def raise_if_bad_table(table_format: str, location: str | None, broker: TableSettings) -> None:
    """InvalidConfig unless a topic with a table says where, and it may be there."""
    if table_format == NO_TABLE:
        return
    if not location:
        raise InvalidConfig(
            f"headrace.table.format={table_format}: headrace.table.location must say where"
        )
    normal = _normal_location(location)
    if normal is None:
        raise InvalidConfig(
            f"headrace.table.location={location}: expected an absolute path or a URL, without .."
        )
    allowed = broker.table_locations
    if allowed and not any(_is_inside(normal, _normal_location(each)) for each in allowed):
        raise InvalidConfig(
            f"headrace.table.location={location}: the broker's headrace.table.locations allow "
            f"{', '.join(allowed)}"
        )


def raise_if_bad_table_schema(schema: str) -> None:
    """InvalidConfig unless it begins as one that the jobs know."""
    kind, colon, rest = schema.partition(":")
    needs_more = kind in ("json-schema", "avro", "protobuf")
    takes_more = needs_more or kind == "registry"
    is_known = takes_more or kind in ("raw", "json")
    if not is_known or (bool(colon) and not (takes_more and rest)) or (needs_more and not colon):
        raise InvalidConfig(f"headrace.table.schema={schema}: expected {TABLE_SCHEMAS}")


def _normal_location(location: str) -> str | None:
    """As a URL, so that ``/lake`` and ``file:///lake`` are one; None if it is neither."""
    parts = urlsplit(location)
    path = posixpath.normpath(parts.path)
    if ".." in parts.path.split("/") or not (parts.scheme or path.startswith("/")):
        return None
    scheme = parts.scheme or "file"
    return f"{scheme}://{parts.netloc}{path.rstrip('/')}"


def _is_inside(location: str, folder: str | None) -> bool:
    return folder is not None and (location == folder or location.startswith(f"{folder}/"))
