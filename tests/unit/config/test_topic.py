"""Topic settings: Kafka's defaults, overrides, and what the broker supplies."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import pytest

from headrace.config.broker import BROKER_OPTIONS, BrokerConfig
from headrace.config.topic import (
    TOPIC_OPTIONS,
    TopicConfig,
    inherited,
    raise_if_invalid_topic_config,
)
from headrace.model.errors import InvalidConfig

from . import kafka_defaults

if TYPE_CHECKING:
    from headrace.config.option import Kind

BROKER = BrokerConfig.resolve()
HOUR_MS = 3_600_000


def resolve(overrides: dict[str, str], **settings: str) -> TopicConfig:
    broker = BrokerConfig.resolve({name.replace("_", "."): v for name, v in settings.items()})
    return TopicConfig.resolve(overrides, broker)


@pytest.mark.parametrize(("name", "kind", "default", "minimum"), kafka_defaults.TOPIC)
def test_topic_option_is_declared_as_in_kafka(
    name: str, kind: Kind, default: str | None, minimum: float | None
) -> None:
    option = TOPIC_OPTIONS[name]
    assert (option.kind, option.default, option.minimum) == (kind, default, minimum)


def test_topic_options_are_kafkas_and_ours() -> None:
    ours = {"durability", "storage", "internal.segment.bytes"}
    ours |= {f"headrace.table.{each}" for each in ("format", "location", "schema")}
    assert set(TOPIC_OPTIONS) == {row[0] for row in kafka_defaults.TOPIC} | ours


def test_attributes_are_named_after_the_options() -> None:
    names = {name.removeprefix("headrace.").replace(".", "_") for name in TOPIC_OPTIONS}
    assert {item.name for item in fields(TopicConfig)} == names


@pytest.mark.parametrize("name", [n for n, option in TOPIC_OPTIONS.items() if option.synonyms])
def test_broker_defaults_agree_with_topic_defaults(name: str) -> None:
    option = TOPIC_OPTIONS[name]
    assert all(synonym.name in BROKER_OPTIONS for synonym in option.synonyms)
    assert inherited(option, BROKER) == option.parse_optional(option.default)


def test_resolve_without_overrides_gives_the_defaults() -> None:
    assert TopicConfig.resolve({}, BROKER) == TopicConfig()


def test_override_wins_over_broker() -> None:
    assert resolve({"retention.ms": "5"}, log_retention_ms="7").retention_ms == 5


def test_finest_retention_of_the_broker_wins() -> None:
    hours = {"log_retention_hours": "2"}
    minutes = hours | {"log_retention_minutes": "3"}
    assert resolve({}, **hours).retention_ms == 2 * HOUR_MS
    assert resolve({}, **minutes).retention_ms == 180_000
    assert resolve({}, **minutes, log_retention_ms="4").retention_ms == 4


def test_unlimited_hours_stay_unlimited() -> None:
    assert resolve({}, log_retention_hours="-1").retention_ms == -1


def test_roll_and_flush_come_from_their_synonyms() -> None:
    config = resolve({}, log_roll_hours="1", log_roll_jitter_ms="9", log_flush_interval_ms="8")
    assert (config.segment_ms, config.segment_jitter_ms, config.flush_ms) == (HOUR_MS, 9, 8)


def test_policy_is_a_set_and_may_be_empty() -> None:
    both = TopicConfig.resolve({"cleanup.policy": "compact, delete"}, BROKER)
    assert both.cleanup_policy == {"compact", "delete"}
    assert TopicConfig.resolve({"cleanup.policy": ""}, BROKER).cleanup_policy == frozenset()


def test_internal_segment_bytes_replaces_segment_bytes() -> None:
    assert TopicConfig.resolve({"internal.segment.bytes": "100"}, BROKER).segment_bytes == 100


def test_durability_comes_from_topic_or_broker() -> None:
    assert resolve({}, durability="fsync").durability == "fsync"
    assert resolve({"durability": "page-cache"}, durability="fsync").durability == "page-cache"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("retention.ms", "-2", "retention.ms=-2: expected a whole number of milliseconds >= -1"),
        ("retentions.ms", "1", "unknown topic option 'retentions.ms'; did you mean retention.ms?"),
        ("segment.bytes", "9", "segment.bytes=9: expected a whole number of bytes >= 1048576"),
        ("storage", "tape", "storage=tape: expected one of disk, memory"),
        ("cleanup.policy", "burn", "cleanup.policy=burn: expected a comma-separated list of "
         "compact, delete"),
        ("remote.storage.enable", "true", "remote.storage.enable=true: expected false"),
    ],
)  # fmt: skip
def test_illegal_setting_is_refused_by_name(name: str, value: str, message: str) -> None:
    with pytest.raises(InvalidConfig) as refused:
        raise_if_invalid_topic_config(name, value)
    assert refused.value.message == message
    with pytest.raises(InvalidConfig):
        TopicConfig.resolve({name: value}, BROKER)


def test_compaction_lags_must_be_ordered() -> None:
    with pytest.raises(InvalidConfig, match=r"min\.compaction\.lag\.ms=10: expected at most"):
        resolve({"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "5"})
