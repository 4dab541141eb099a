"""Broker settings: layers, checks across options, and which may change at run time."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import pytest

from headrace.config.broker import (
    BROKER_OPTIONS,
    BrokerConfig,
    broker_value,
    raise_if_invalid_broker_config,
    raise_if_not_dynamic,
)
from headrace.model.errors import InvalidConfig

from . import kafka_defaults

if TYPE_CHECKING:
    from headrace.config.option import Kind


@pytest.mark.parametrize(("name", "kind", "default"), kafka_defaults.BROKER)
def test_broker_option_is_declared_as_in_kafka(name: str, kind: Kind, default: str | None) -> None:
    assert (BROKER_OPTIONS[name].kind, BROKER_OPTIONS[name].default) == (kind, default)


def test_attributes_are_named_after_the_options() -> None:
    names = {name.removeprefix("headrace.").replace(".", "_") for name in BROKER_OPTIONS}
    assert {item.name for item in fields(BrokerConfig)} - {"layers"} == names


def test_every_option_says_what_it_is_for() -> None:
    assert all(option.help.endswith(".") for option in BROKER_OPTIONS.values())


def test_later_layers_give_way_to_earlier_ones() -> None:
    static = {"num.partitions": "2", "log.retention.ms": "2", "message.max.bytes": "2"}
    everywhere = {"num.partitions": "3", "log.retention.ms": "3"}
    here = {"num.partitions": "4"}
    config = BrokerConfig.resolve(static, dynamic=here, dynamic_default=everywhere)
    assert (config.num_partitions, config.log_retention_ms, config.message_max_bytes) == (4, 3, 2)
    assert config.layers.static == static


def test_broker_value_looks_up_dotted_names() -> None:
    config = BrokerConfig.resolve({"headrace.open.files.max": "17"})
    assert broker_value(config, "headrace.open.files.max") == config.open_files_max == 17


def test_config_does_not_see_later_changes_of_its_sources() -> None:
    settings = {"num.partitions": "2"}
    config = BrokerConfig.resolve(settings)
    settings["num.partitions"] = "9"
    assert config.layers.static["num.partitions"] == "2"


def test_unknown_option_is_refused_with_the_nearest() -> None:
    with pytest.raises(InvalidConfig, match=r"did you mean log\.retention\.ms\?"):
        BrokerConfig.resolve({"log.retentions.ms": "1"})


@pytest.mark.parametrize(
    "settings",
    [
        {"group.min.session.timeout.ms": "1800001"},
        {"group.consumer.session.timeout.ms": "60001"},
        {"group.consumer.heartbeat.interval.ms": "4999"},
        {"log.cleaner.min.compaction.lag.ms": "2", "log.cleaner.max.compaction.lag.ms": "1"},
    ],
)
def test_pairs_out_of_order_are_refused(settings: dict[str, str]) -> None:
    with pytest.raises(InvalidConfig, match="expected at most"):
        BrokerConfig.resolve(settings)


def test_illegal_value_is_refused_by_name() -> None:
    with pytest.raises(InvalidConfig, match=r"num\.partitions=0: .* >= 1"):
        raise_if_invalid_broker_config("num.partitions", "0")


def test_option_that_needs_a_restart_says_so() -> None:
    raise_if_not_dynamic("log.retention.ms")
    with pytest.raises(InvalidConfig, match=r"offsets\.topic\.num\.partitions .* restart"):
        raise_if_not_dynamic("offsets.topic.num.partitions")
