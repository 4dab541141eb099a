"""IncrementalAlterConfigs: set, delete, append, subtract."""

from __future__ import annotations

import logging

import pytest

from headrace.codecs.kafka.generated.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from headrace.frontends.kafka.context import Pending
from headrace.frontends.kafka.handlers.api_44_incremental_alter_configs import handle
from headrace.testing.metadata_bench import MetadataBench

TOPIC, BROKER, BROKER_LOGGER, GROUP = 2, 4, 8, 32
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3


@pytest.fixture
def bench() -> MetadataBench:
    bench = MetadataBench()
    bench.create("orders", 1, retention_ms="5")
    bench.settle()
    return bench


def resource(
    resource_type: int, name: str, *changes: tuple[str, int, str | None]
) -> AlterConfigsResource:
    return AlterConfigsResource(
        resource_type, name, [AlterableConfig(*change) for change in changes]
    )


def alter(
    bench: MetadataBench, *resources: AlterConfigsResource, validate_only: bool = False
) -> list[int]:
    request = IncrementalAlterConfigsRequest(resources, validate_only)
    answer = handle(request, bench.context(1))
    if isinstance(answer, Pending):
        answers: list[IncrementalAlterConfigsResponse] = []
        answer.attach(answers.append)
        bench.settle()
        answer = answers[0]
    return [response.error_code for response in answer.responses]


def settings(bench: MetadataBench) -> dict[str, str]:
    return bench.configurations.topic_settings("orders")


def test_changes_leave_the_other_settings_alone(bench: MetadataBench) -> None:
    assert alter(bench, resource(TOPIC, "orders", ("segment.ms", SET, "7"))) == [0]
    assert settings(bench) == {"retention.ms": "5", "segment.ms": "7"}
    assert alter(bench, resource(TOPIC, "orders", ("retention.ms", DELETE, None))) == [0]
    assert settings(bench) == {"segment.ms": "7"}


def test_lists_grow_and_shrink_and_appending_twice_is_appending_once(bench: MetadataBench) -> None:
    append = resource(TOPIC, "orders", ("cleanup.policy", APPEND, "compact"))
    assert alter(bench, append) == [0]
    assert alter(bench, append) == [0]
    assert settings(bench)["cleanup.policy"] == "delete,compact"
    subtract = resource(TOPIC, "orders", ("cleanup.policy", SUBTRACT, "delete"))
    assert alter(bench, subtract) == [0]
    assert settings(bench)["cleanup.policy"] == "compact"


def test_broker_takes_a_change_without_a_restart(bench: MetadataBench) -> None:
    change = resource(BROKER, "1", ("log.retention.ms", SET, "77"))
    delete = resource(TOPIC, "orders", ("retention.ms", DELETE, None))
    assert alter(bench, change, delete) == [0, 0]
    topic = bench.topics.get("orders")
    assert topic is not None
    assert topic.config.retention_ms == 77


def test_all_changes_of_a_resource_happen_or_none(bench: MetadataBench) -> None:
    change = resource(TOPIC, "orders", ("segment.ms", SET, "7"), ("segment.bytes", SET, "-1"))
    assert alter(bench, change) == [40]
    assert settings(bench) == {"retention.ms": "5"}


def test_validation_alone_changes_nothing(bench: MetadataBench) -> None:
    change = resource(TOPIC, "orders", ("segment.ms", SET, "7"))
    assert alter(bench, change, validate_only=True) == [0]
    assert settings(bench) == {"retention.ms": "5"}


def test_each_resource_has_its_own_error(bench: MetadataBench) -> None:
    codes = alter(
        bench,
        resource(TOPIC, "unknown", ("segment.ms", SET, "7")),
        resource(TOPIC, "orders", ("segment.ms", APPEND, "7")),
        resource(BROKER, "", ("segment.ms", SET, "7")),
        resource(BROKER, "1", ("num.partitions", 9, "7")),
        resource(GROUP, "g", ("num.partitions", SET, "7")),
        resource(BROKER_LOGGER, "1", ("root", APPEND, "INFO")),
        resource(BROKER_LOGGER, "2", ("root", SET, "INFO")),
    )
    assert codes == [3, 40, 40, 42, 42, 42, 42]


@pytest.mark.parametrize(
    "changes",
    [
        [("segment.ms", SET, None)],
        [("segment.ms", SET, "1"), ("segment.ms", DELETE, None)],
    ],
)
def test_contradiction_is_an_invalid_request(
    bench: MetadataBench, changes: list[tuple[str, int, str | None]]
) -> None:
    assert alter(bench, resource(TOPIC, "orders", *changes)) == [42]


def test_resource_that_is_named_twice_is_not_changed(bench: MetadataBench) -> None:
    change = resource(TOPIC, "orders", ("segment.ms", SET, "7"))
    assert alter(bench, change, change) == [42]
    assert settings(bench) == {"retention.ms": "5"}


def test_log_levels_change_together_or_not_at_all(bench: MetadataBench) -> None:
    logger = logging.getLogger("headrace.altered")
    wrong = [("headrace.altered", SET, "DEBUG"), ("headrace.nothing.here", SET, "DEBUG")]
    assert alter(bench, resource(BROKER_LOGGER, "1", *wrong)) == [40]
    assert logger.level == logging.NOTSET
    assert alter(bench, resource(BROKER_LOGGER, "1", wrong[0])) == [0]
    assert logger.level == logging.DEBUG
    assert alter(bench, resource(BROKER_LOGGER, "1", ("headrace.altered", DELETE, None))) == [0]
    assert logger.level == logging.NOTSET
