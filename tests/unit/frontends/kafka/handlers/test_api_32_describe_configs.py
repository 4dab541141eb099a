"""DescribeConfigs: all kinds of resources."""

from __future__ import annotations

import logging

import pytest

from headrace.codecs.kafka.generated.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResult,
)
from headrace.config.alter import Change, Operation
from headrace.coordination.metadata.records import ResourceType
from headrace.coordination.metadata.state import ConfigResource
from headrace.frontends.kafka.handlers.api_32_describe_configs import handle
from headrace.testing.metadata_bench import MetadataBench

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
INT, LONG, LIST = 3, 5, 7


@pytest.fixture
def bench() -> MetadataBench:
    bench = MetadataBench({"log.retention.ms": "1000"})
    bench.create("orders", 1, retention_ms="5")
    return bench


def describe(
    bench: MetadataBench, resource_type: int, name: str, keys: list[str] | None = None, **more: bool
) -> DescribeConfigsResult:
    request = DescribeConfigsRequest([DescribeConfigsResource(resource_type, name, keys)], **more)
    return handle(request, bench.context(4)).results[0]


def test_topic_has_value_source_type_and_synonyms(bench: MetadataBench) -> None:
    result = describe(bench, TOPIC, "orders", ["retention.ms"], include_synonyms=True)
    (config,) = result.configs
    assert (config.name, config.value, config.config_source) == ("retention.ms", "5", 1)
    assert (config.config_type, config.read_only, config.documentation) == (LONG, False, None)
    synonyms = [(each.name, each.value, each.source) for each in config.synonyms]
    assert synonyms[:2] == [("retention.ms", "5", 1), ("log.retention.ms", "1000", 4)]


def test_no_keys_mean_all(bench: MetadataBench) -> None:
    everything = describe(bench, TOPIC, "orders")
    assert len(everything.configs) > 30
    assert describe(bench, TOPIC, "orders", []).configs == everything.configs
    assert all(not config.synonyms for config in everything.configs)


def test_documentation_is_told_when_asked(bench: MetadataBench) -> None:
    result = describe(bench, TOPIC, "orders", ["retention.ms"], include_documentation=True)
    assert "kept" in (result.configs[0].documentation or "")


def test_broker_and_the_defaults_of_all_brokers_are_told_apart(bench: MetadataBench) -> None:
    default = ConfigResource(ResourceType.BROKER, "")
    bench.configurations.alter(default, [Change("num.partitions", Operation.SET, "3")])
    (config,) = describe(bench, BROKER, "1", ["num.partitions"]).configs
    assert (config.value, config.config_source, config.config_type) == ("3", 3, INT)
    assert [config.name for config in describe(bench, BROKER, "").configs] == ["num.partitions"]
    assert len(describe(bench, BROKER, "1").configs) > 50


def test_group_shows_the_broker_s_values(bench: MetadataBench) -> None:
    configs = describe(bench, GROUP, "g").configs
    assert {config.name: config.value for config in configs} == {
        "consumer.heartbeat.interval.ms": "5000",
        "consumer.session.timeout.ms": "45000",
    }
    assert all(config.read_only for config in configs)


def test_log_levels_are_told(bench: MetadataBench) -> None:
    logging.getLogger("headrace.described")
    configs = describe(bench, BROKER_LOGGER, "1", ["root", "headrace.described"]).configs
    assert [config.name for config in configs] == ["root", "headrace.described"]
    assert {config.config_source for config in configs} == {6}


def test_client_metrics_have_no_settings(bench: MetadataBench) -> None:
    result = describe(bench, CLIENT_METRICS, "all")
    assert (result.error_code, list(result.configs)) == (0, [])


@pytest.mark.parametrize(
    ("resource_type", "name", "code"),
    [
        (TOPIC, "unknown", 3),
        (TOPIC, "bad name", 17),
        (TOPIC, "", 42),
        (BROKER, "7", 42),
        (BROKER, "one", 42),
        (BROKER_LOGGER, "", 42),
        (GROUP, "", 42),
        (CLIENT_METRICS, "", 42),
        (3, "x", 42),
    ],
)
def test_resource_is_refused(
    bench: MetadataBench, resource_type: int, name: str, code: int
) -> None:
    result = describe(bench, resource_type, name)
    assert (result.error_code, result.resource_type, result.resource_name) == (
        code,
        resource_type,
        name,
    )
    assert result.error_message
