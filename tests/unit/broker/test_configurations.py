"""Settings that change while the broker runs."""

from __future__ import annotations

import pytest

from headrace.config.alter import Change, Operation
from headrace.coordination.metadata.records import ConfigRecord, ResourceType
from headrace.coordination.metadata.state import ConfigResource
from headrace.model.errors import InvalidConfig, InvalidRequest, UnknownTopicOrPartition
from headrace.testing.metadata_bench import MetadataBench

ORDERS = ConfigResource(ResourceType.TOPIC, "orders")
THIS_BROKER = ConfigResource(ResourceType.BROKER, "1")
ALL_BROKERS = ConfigResource(ResourceType.BROKER, "")


@pytest.fixture
def bench() -> MetadataBench:
    bench = MetadataBench({"log.retention.ms": "1000"})
    bench.create("orders")
    return bench


def put(name: str, value: str) -> Change:
    return Change(name, Operation.SET, value)


def retention_ms(bench: MetadataBench) -> tuple[int, int]:
    """Of the topic, and of its log."""
    topic = bench.topics.get("orders")
    assert topic is not None
    return topic.config.retention_ms, topic.partitions[0].log.config.retention_ms


def test_topic_inherits_from_the_broker_in_order_of_precedence(bench: MetadataBench) -> None:
    assert retention_ms(bench) == (1000, 1000)
    bench.configurations.alter(ALL_BROKERS, [put("log.retention.ms", "2000")])
    assert retention_ms(bench) == (2000, 2000)
    bench.configurations.alter(THIS_BROKER, [put("log.retention.ms", "3000")])
    assert retention_ms(bench) == (3000, 3000)
    bench.configurations.alter(ORDERS, [put("retention.ms", "4000")])
    assert retention_ms(bench) == (4000, 4000)
    bench.restart(clean=False)
    assert retention_ms(bench) == (4000, 4000)
    bench.configurations.alter(ORDERS, [Change("retention.ms", Operation.DELETE)])
    assert retention_ms(bench) == (3000, 3000)


def test_replacement_drops_what_it_does_not_name(bench: MetadataBench) -> None:
    bench.configurations.alter(ORDERS, [put("retention.ms", "4"), put("segment.ms", "5")])
    bench.configurations.replace(ORDERS, {"segment.ms": "6"})
    assert bench.configurations.topic_settings("orders") == {"segment.ms": "6"}
    bench.configurations.replace(THIS_BROKER, {"num.partitions": "9"})
    assert bench.configurations.broker.num_partitions == 9
    bench.configurations.replace(THIS_BROKER, {})
    assert bench.configurations.broker.num_partitions == 1


def test_validation_alone_changes_nothing(bench: MetadataBench) -> None:
    offset = bench.store._log.next_offset
    bench.configurations.alter(ORDERS, [put("retention.ms", "4")], validate_only=True)
    bench.configurations.replace(THIS_BROKER, {"num.partitions": "9"}, validate_only=True)
    assert bench.store._log.next_offset == offset
    assert retention_ms(bench) == (1000, 1000)


def test_change_to_the_same_value_writes_nothing(bench: MetadataBench) -> None:
    bench.configurations.alter(ORDERS, [put("retention.ms", "4")])
    offset = bench.store._log.next_offset
    bench.configurations.alter(ORDERS, [put("retention.ms", "4")])
    assert bench.store._log.next_offset == offset


@pytest.mark.parametrize(
    ("resource", "change", "error", "words"),
    [
        (ORDERS, put("retention.ms", "-5"), InvalidConfig, "retention.ms=-5"),
        (ORDERS, put("no.such.name", "1"), InvalidConfig, "no.such.name"),
        (ORDERS, put("storage", "memory"), InvalidConfig, "once the topic exists"),
        (THIS_BROKER, put("node.id", "7"), InvalidConfig, "restart"),
        (THIS_BROKER, put("num.partitions", "0"), InvalidConfig, "num.partitions=0"),
        (ConfigResource(ResourceType.BROKER, "2"), put("num.partitions", "1"), InvalidRequest, "1"),
        (ConfigResource(ResourceType.GROUP, "g"), put("a", "1"), InvalidRequest, "GROUP"),
        (
            ConfigResource(ResourceType.TOPIC, "other"),
            put("retention.ms", "1"),
            UnknownTopicOrPartition,
            "other",
        ),
    ],
)
def test_change_is_refused_by_name(
    bench: MetadataBench,
    resource: ConfigResource,
    change: Change,
    error: type[Exception],
    words: str,
) -> None:
    before = dict(bench.configurations.settings(resource))
    with pytest.raises(error, match=words):
        bench.configurations.alter(resource, [change])
    assert bench.configurations.settings(resource) == before


def test_settings_that_mean_nothing_here_are_kept_and_told(bench: MetadataBench) -> None:
    bench.store.commit(
        [
            ConfigRecord(ResourceType.TOPIC, "orders", "remote.storage.enable", "true"),
            ConfigRecord(ResourceType.BROKER, "1", "log.cleaner.magic", "2"),
            ConfigRecord(ResourceType.CLIENT_METRICS, "all", "interval.ms", "5"),
        ]
    )
    bench.restart()
    assert bench.configurations.unused_settings() == [
        "settings of topic orders are not used: remote.storage.enable",
        "settings of broker 1 are not used: log.cleaner.magic",
        "settings of client_metrics all are not used: interval.ms",
    ]
    bench.configurations.alter(ORDERS, [put("retention.ms", "4")])
    assert retention_ms(bench) == (4, 4)
    assert bench.configurations.settings(ORDERS) == {
        "remote.storage.enable": "true",
        "retention.ms": "4",
    }


def test_settings_that_contradict_each_other_give_way_to_the_broker(bench: MetadataBench) -> None:
    contradiction = {"min.compaction.lag.ms": "9", "max.compaction.lag.ms": "5"}
    config = bench.configurations.resolve_topic(contradiction)
    assert config.min_compaction_lag_ms == 0


def test_a_table_that_is_no_longer_allowed_takes_no_other_setting_along() -> None:
    """Else the broker's retention would delete what the topic's own was to keep."""
    bench = MetadataBench({"headrace.table.locations": "/lake", "log.retention.ms": "1000"})
    settings = {
        "retention.ms": "-1",
        "durability": "fsync",
        "headrace.table.format": "delta",
        "headrace.table.location": "/elsewhere/orders",
    }
    config = bench.configurations.resolve_topic(settings)
    assert (config.retention_ms, config.table_format) == (-1, "none")
    assert config.durability == "fsync"
    allowed = {**settings, "headrace.table.location": "/lake/orders"}
    assert bench.configurations.resolve_topic(allowed).table_format == "delta"
    contradiction = {"min.compaction.lag.ms": "9", "max.compaction.lag.ms": "5"}
    config = bench.configurations.resolve_topic({**settings, **contradiction})
    assert config.min_compaction_lag_ms == 0


def test_listeners_hear_of_changes(bench: MetadataBench) -> None:
    heard: list[ConfigResource] = []
    bench.configurations.on_change(heard.append)
    bench.configurations.alter(ORDERS, [put("retention.ms", "4")])
    bench.configurations.alter(ORDERS, [put("retention.ms", "4")])
    bench.configurations.alter(ALL_BROKERS, [put("num.partitions", "4")])
    assert heard == [ORDERS, ALL_BROKERS]


def test_settings_of_the_start_that_do_nothing_are_told() -> None:
    bench = MetadataBench({"log.preallocate": "true", "num.partitions": "2"})
    (sentence,) = bench.configurations.settings_without_effect()
    assert sentence.startswith("log.preallocate is set, without effect: ")
