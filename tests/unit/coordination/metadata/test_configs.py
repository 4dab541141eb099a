"""Settings become records of what differs."""

from __future__ import annotations

from headrace.coordination.metadata.configs import decide_settings
from headrace.coordination.metadata.records import ConfigRecord, ResourceType
from headrace.coordination.metadata.state import ConfigResource, MetadataState

ORDERS = ConfigResource(ResourceType.TOPIC, "orders")


def test_only_what_differs_is_written() -> None:
    records = decide_settings(
        ORDERS,
        {"kept": "1", "changed": "1", "dropped": "1"},
        {"kept": "1", "changed": "2", "new": "3"},
    )
    assert records == [
        ConfigRecord(ResourceType.TOPIC, "orders", "dropped", None),
        ConfigRecord(ResourceType.TOPIC, "orders", "changed", "2"),
        ConfigRecord(ResourceType.TOPIC, "orders", "new", "3"),
    ]


def test_equal_settings_need_no_record() -> None:
    assert decide_settings(ORDERS, {"a": "1"}, {"a": "1"}) == []


def test_replaying_the_records_gives_the_wanted_settings() -> None:
    state = MetadataState()
    for wanted in ({"a": "1", "b": "2"}, {"b": "3", "c": "4"}, {}):
        for record in decide_settings(ORDERS, state.config(ORDERS), wanted):
            state.replay(record)
        assert state.config(ORDERS) == wanted
