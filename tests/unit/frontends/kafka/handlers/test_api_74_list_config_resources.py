"""ListConfigResources: what has settings."""

from __future__ import annotations

import pytest

from headrace.codecs.kafka.generated.list_config_resources import ListConfigResourcesRequest
from headrace.coordination.metadata.records import ConfigRecord, ResourceType
from headrace.frontends.kafka.handlers.api_74_list_config_resources import handle
from headrace.testing.metadata_bench import MetadataBench

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32


@pytest.fixture
def bench() -> MetadataBench:
    bench = MetadataBench()
    bench.create("orders")
    bench.store.commit([ConfigRecord(ResourceType.GROUP, "g", "consumer.session.timeout.ms", "1")])
    return bench


def listed(bench: MetadataBench, types: list[int], version: int = 1) -> list[tuple[int, str]]:
    answer = handle(ListConfigResourcesRequest(types), bench.context(version))
    assert answer.error_code == 0
    return [(each.resource_type, each.resource_name) for each in answer.config_resources]


def test_no_type_means_all(bench: MetadataBench) -> None:
    assert listed(bench, []) == [
        (TOPIC, "orders"),
        (BROKER, "1"),
        (BROKER_LOGGER, "1"),
        (GROUP, "g"),
    ]


def test_types_are_listed_once_each(bench: MetadataBench) -> None:
    assert listed(bench, [GROUP, TOPIC, GROUP]) == [(GROUP, "g"), (TOPIC, "orders")]
    assert listed(bench, [CLIENT_METRICS]) == []


def test_first_version_knows_client_metrics_only(bench: MetadataBench) -> None:
    assert listed(bench, [], version=0) == []


def test_unknown_type_is_refused(bench: MetadataBench) -> None:
    assert handle(ListConfigResourcesRequest([5]), bench.context(1)).error_code == 35
