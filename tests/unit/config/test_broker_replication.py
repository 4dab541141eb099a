"""Options that Kafka's tools set around a reassignment: known, dynamic, and without effect."""

from __future__ import annotations

from dataclasses import fields

from headrace.config.alter import Change, Operation, alter_broker
from headrace.config.broker import BROKER_OPTIONS, BrokerConfig
from headrace.config.broker_replication import ReplicationSettings

NAMES = [each.name.replace("_", ".") for each in fields(ReplicationSettings)]


def test_options_are_dynamic_and_say_that_they_do_nothing() -> None:
    for name in NAMES:
        assert BROKER_OPTIONS[name].dynamic
        assert BROKER_OPTIONS[name].no_effect


def test_options_are_set_and_cleared_as_kafkas_tool_does_it() -> None:
    config = BrokerConfig.resolve({})
    changes = [Change(name, Operation.SET, "1000") for name in NAMES]
    settings = alter_broker({}, changes, config)
    assert settings == dict.fromkeys(NAMES, "1000")
    cleared = [Change(name, Operation.DELETE, None) for name in NAMES]
    assert alter_broker(settings, cleared, config) == {}
