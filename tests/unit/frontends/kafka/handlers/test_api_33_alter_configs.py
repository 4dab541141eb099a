"""AlterConfigs: the request is all that is set afterwards."""

from __future__ import annotations

import pytest

from headrace.codecs.kafka.generated.alter_configs import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResponse,
)
from headrace.frontends.kafka.context import Pending
from headrace.frontends.kafka.handlers.api_33_alter_configs import handle
from headrace.testing.metadata_bench import MetadataBench

TOPIC, BROKER, BROKER_LOGGER = 2, 4, 8


@pytest.fixture
def bench() -> MetadataBench:
    bench = MetadataBench()
    bench.create("orders", 1, retention_ms="5")
    bench.settle()
    return bench


def resource(resource_type: int, name: str, **settings: str | None) -> AlterConfigsResource:
    configs = [AlterableConfig(key.replace("_", "."), value) for key, value in settings.items()]
    return AlterConfigsResource(resource_type, name, configs)


def alter(
    bench: MetadataBench, *resources: AlterConfigsResource, validate_only: bool = False
) -> list[int]:
    answer = handle(AlterConfigsRequest(resources, validate_only), bench.context(2))
    if isinstance(answer, Pending):
        answers: list[AlterConfigsResponse] = []
        answer.attach(answers.append)
        bench.settle()
        answer = answers[0]
    return [response.error_code for response in answer.responses]


def test_what_is_not_named_goes_back_to_its_default(bench: MetadataBench) -> None:
    assert alter(bench, resource(TOPIC, "orders", segment_ms="7")) == [0]
    assert bench.configurations.topic_settings("orders") == {"segment.ms": "7"}


def test_broker_is_changed_at_once(bench: MetadataBench) -> None:
    assert alter(bench, resource(BROKER, "1", num_partitions="7"), resource(BROKER, "")) == [0, 0]
    assert bench.configurations.broker.num_partitions == 7


def test_validation_alone_changes_nothing(bench: MetadataBench) -> None:
    assert alter(bench, resource(TOPIC, "orders", segment_ms="7"), validate_only=True) == [0]
    assert bench.configurations.topic_settings("orders") == {"retention.ms": "5"}


def test_each_resource_has_its_own_error(bench: MetadataBench) -> None:
    twice = AlterConfigsResource(TOPIC, "users", [AlterableConfig("segment.ms", "1")] * 2)
    codes = alter(
        bench,
        resource(TOPIC, "unknown", segment_ms="7"),
        resource(TOPIC, "orders", segment_ms="x"),
        resource(BROKER, "1", node_id="4"),
        resource(BROKER, "9"),
        resource(BROKER, "", num_partitions=None),
        resource(BROKER_LOGGER, "1", root="INFO"),
        resource(7, "what"),
        twice,
    )
    assert codes == [3, 40, 40, 42, 42, 42, 42, 42]
    assert bench.configurations.topic_settings("orders") == {"retention.ms": "5"}


def test_resource_that_is_named_twice_is_not_changed(bench: MetadataBench) -> None:
    first, second = resource(TOPIC, "orders", segment_ms="7"), resource(TOPIC, "orders")
    assert alter(bench, first, second) == [42]
    assert bench.configurations.topic_settings("orders") == {"retention.ms": "5"}
