"""Settings of topics and brokers, read and changed through a broker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.cli.client import admin_library

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from confluent_kafka.admin import AdminClient

    from headrace.cli.client import Broker

SOURCES = {
    0: "unknown",
    1: "topic",
    2: "broker, set at run time",
    3: "all brokers, set at run time",
    4: "broker, given at the start",
    5: "default",
}
_TOPIC_SOURCE = 1


def read_resource(broker: Broker, admin: AdminClient, kind: str, name: str) -> dict[str, Any]:
    """Entries by name; ``kind`` is topic or broker."""
    resource = admin_library().ConfigResource(kind, name)
    future = admin.describe_configs([resource])[resource]
    entries: dict[str, Any] = broker.result(future, f"{kind} {name}".strip())
    return entries


def set_by_hand(broker: Broker, admin: AdminClient, kind: str, name: str) -> dict[str, str]:
    """The settings that a topic has of its own."""
    entries = read_resource(broker, admin, kind, name)
    return {
        entry.name: entry.value
        for entry in sorted(entries.values(), key=lambda each: each.name)
        if entry.source == _TOPIC_SOURCE
    }


def alter_resource(
    broker: Broker,
    admin: AdminClient,
    kind: str,
    name: str,
    settings: Mapping[str, str],
    unset: Sequence[str],
) -> None:
    """Set some and give up others, in one request; the rest stays as it is."""
    library = admin_library()
    entries = [
        library.ConfigEntry(setting, value, incremental_operation=library.AlterConfigOpType.SET)
        for setting, value in settings.items()
    ]
    entries += [
        # The library demands a value, also where the broker ignores it.
        library.ConfigEntry(setting, "", incremental_operation=library.AlterConfigOpType.DELETE)
        for setting in unset
    ]
    resource = library.ConfigResource(kind, name, incremental_configs=entries)
    future = admin.incremental_alter_configs([resource])[resource]
    broker.result(future, f"{kind} {name}".strip())
