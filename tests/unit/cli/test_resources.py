"""Settings through a broker."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from headrace.cli.client import Broker
from headrace.cli.resources import alter_resource, read_resource, set_by_hand

from .fakes import answered

BROKER = Broker("127.0.0.1:1", [], 0.5)
ENTRIES = {
    "b": SimpleNamespace(name="b", value="2", source=1),
    "a": SimpleNamespace(name="a", value="1", source=1),
    "c": SimpleNamespace(name="c", value="3", source=5),
}


def test_own_settings_are_those_of_the_topic() -> None:
    admin: Any = SimpleNamespace(describe_configs=lambda wanted: {wanted[0]: answered(ENTRIES)})
    assert read_resource(BROKER, admin, "topic", "t") == ENTRIES
    assert set_by_hand(BROKER, admin, "topic", "t") == {"a": "1", "b": "2"}


def test_one_request_sets_and_unsets() -> None:
    sent: list[Any] = []

    def alter(resources: list[Any]) -> dict[Any, Any]:
        sent.extend(resources)
        return {resources[0]: answered(None)}

    admin: Any = SimpleNamespace(incremental_alter_configs=alter)
    alter_resource(BROKER, admin, "topic", "t", {"a": "1"}, ["b"])
    (resource,) = sent
    changes = [
        (entry.name, entry.value, entry.incremental_operation.name)
        for entry in resource.incremental_configs
    ]
    assert changes == [("a", "1", "SET"), ("b", "", "DELETE")]
