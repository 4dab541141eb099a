"""Descriptions, compared with what Apache Kafka 4.3.0 answered for the same settings."""

from __future__ import annotations

from headrace.config.broker import BrokerConfig
from headrace.config.describe import (
    ConfigEntry,
    Source,
    SynonymEntry,
    describe_broker,
    describe_broker_defaults,
    describe_topic,
    explain,
)
from headrace.config.option import Kind
from headrace.config.topic import TOPIC_OPTIONS

STATIC = {"log.retention.hours": "24", "log.segment.bytes": "2097152"}


def topic_entry(
    name: str, overrides: dict[str, str] | None = None, broker: BrokerConfig | None = None
) -> ConfigEntry:
    described = describe_topic(overrides or {}, broker or BrokerConfig.resolve(STATIC), [name])
    assert [each.name for each in described] == [name]
    return described[0]


def broker_entry(name: str, broker: BrokerConfig) -> ConfigEntry:
    return describe_broker(broker, [name])[0]


def test_topic_has_every_option_that_is_not_internal() -> None:
    described = describe_topic({}, BrokerConfig.resolve())
    assert {each.name for each in described} == set(TOPIC_OPTIONS) - {"internal.segment.bytes"}


def test_default_of_a_topic_lists_the_broker_option_as_synonym() -> None:
    entry = topic_entry("file.delete.delay.ms")
    assert (entry.value, entry.source, entry.read_only) == ("60000", Source.DEFAULT, False)
    synonym = SynonymEntry("log.segment.delete.delay.ms", "60000", Source.DEFAULT)
    assert entry.synonyms == (synonym,)
    assert entry.kind is Kind.LONG
    assert entry.documentation == TOPIC_OPTIONS["file.delete.delay.ms"].help


def test_static_broker_setting_is_the_source_of_a_topic_value() -> None:
    entry = topic_entry("segment.bytes")
    assert (entry.value, entry.source) == ("2097152", Source.STATIC_BROKER)
    assert entry.synonyms == (
        SynonymEntry("log.segment.bytes", "2097152", Source.STATIC_BROKER),
        SynonymEntry("log.segment.bytes", "1073741824", Source.DEFAULT),
    )


def test_override_comes_first_and_is_reported_as_given() -> None:
    entry = topic_entry("cleanup.policy", {"cleanup.policy": "compact, delete"})
    assert (entry.value, entry.source) == ("compact,delete", Source.DYNAMIC_TOPIC)
    assert entry.synonyms == (
        SynonymEntry("cleanup.policy", "compact,delete", Source.DYNAMIC_TOPIC),
        SynonymEntry("log.cleanup.policy", "delete", Source.DEFAULT),
    )


def test_value_from_a_coarser_synonym_is_reported_as_default_without_synonyms() -> None:
    entry = topic_entry("retention.ms")
    assert (entry.value, entry.source, entry.synonyms) == ("86400000", Source.DEFAULT, ())


def test_coarser_names_follow_the_finest_one() -> None:
    broker = BrokerConfig.resolve(STATIC, dynamic={"log.retention.ms": "5"})
    entry = topic_entry("retention.ms", broker=broker)
    assert (entry.value, entry.source) == ("5", Source.DYNAMIC_BROKER)
    assert entry.synonyms == (
        SynonymEntry("log.retention.ms", "5", Source.DYNAMIC_BROKER),
        SynonymEntry("log.retention.hours", "24", Source.STATIC_BROKER),
        SynonymEntry("log.retention.hours", "168", Source.DEFAULT),
    )


def test_internal_option_shows_only_when_it_is_set() -> None:
    assert topic_entry("internal.segment.bytes", {"internal.segment.bytes": "9"}).value == "9"
    assert describe_topic({}, BrokerConfig.resolve(), ["internal.segment.bytes"]) == []


def test_unknown_names_are_left_out() -> None:
    assert describe_topic({}, BrokerConfig.resolve(), ["nonsense"]) == []


def test_broker_option_without_default_has_no_value() -> None:
    entry = broker_entry("log.retention.ms", BrokerConfig.resolve())
    assert (entry.value, entry.source, entry.synonyms) == (None, Source.DEFAULT, ())
    assert entry.is_default


def test_broker_layers_are_listed_in_order_of_precedence() -> None:
    name = "message.max.bytes"
    broker = BrokerConfig.resolve({name: "1"}, dynamic={name: "3"}, dynamic_default={name: "2"})
    entry = broker_entry(name, broker)
    assert (entry.value, entry.read_only) == ("3", False)
    assert [(each.value, each.source) for each in entry.synonyms] == [
        ("3", Source.DYNAMIC_BROKER),
        ("2", Source.DYNAMIC_DEFAULT_BROKER),
        ("1", Source.STATIC_BROKER),
        ("1048588", Source.DEFAULT),
    ]


def test_option_that_needs_a_restart_is_read_only() -> None:
    assert broker_entry("node.id", BrokerConfig.resolve()).read_only


def test_defaults_of_all_brokers_show_only_what_was_set_for_all() -> None:
    broker = BrokerConfig.resolve(STATIC, dynamic_default={"message.max.bytes": "7"})
    entries = describe_broker_defaults(broker)
    assert [(each.name, each.value, each.source) for each in entries] == [
        ("message.max.bytes", "7", Source.DYNAMIC_DEFAULT_BROKER)
    ]
    assert describe_broker_defaults(broker, ["log.retention.ms"]) == []


def test_explain_finds_declarations_of_topics_and_brokers() -> None:
    assert [each.synonyms != () for each in explain("min.insync.replicas")] == [True, False]
    assert len(explain("retention.ms")) == 1
