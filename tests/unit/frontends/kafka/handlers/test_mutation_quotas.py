"""Creating and deleting partitions under a quota: refused where the client knows the error."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.broker.quotas import QuotaAlteration
from headrace.codecs.kafka.generated.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from headrace.codecs.kafka.generated.create_topics import CreatableTopic, CreateTopicsRequest
from headrace.codecs.kafka.generated.delete_topics import DeleteTopicsRequest, DeleteTopicState
from headrace.codecs.kafka.generated.metadata import MetadataRequest, MetadataRequestTopic
from headrace.coordination.metadata.quotas import QuotaChange
from headrace.frontends.kafka.context import Pending
from headrace.frontends.kafka.handlers import (
    api_03_metadata,
    api_19_create_topics,
    api_20_delete_topics,
    api_37_create_partitions,
)
from headrace.quotas.entities import DEFAULT, QuotaEntity
from headrace.testing.metadata_bench import MetadataBench

OK, UNKNOWN_TOPIC, INVALID_TOPIC, THROTTLED = 0, 3, 17, 89
BURST = 11
"""Partitions that may come at once: eleven windows of a second, one partition each."""


@pytest.fixture
def bench() -> MetadataBench:
    bench = MetadataBench()
    bench.create("old", 4)
    change = QuotaChange("controller_mutation_rate", 1.0)
    bench.quotas.alter([QuotaAlteration(QuotaEntity(client_id=DEFAULT), [change])])
    bench.settle()
    return bench


def ask(bench: MetadataBench, handler: Any, version: int, request: Any) -> Any:
    answer = handler.handle(request, bench.context(version))
    if isinstance(answer, Pending):
        answers: list[Any] = []
        answer.attach(answers.append)
        bench.settle()
        (answer,) = answers
    return answer


def create(
    bench: MetadataBench, version: int, *topics: tuple[str, int], validate_only: bool = False
) -> tuple[list[int], int]:
    wanted = [CreatableTopic(name, count, 1) for name, count in topics]
    request = CreateTopicsRequest(wanted, validate_only=validate_only)
    answer = ask(bench, api_19_create_topics, version, request)
    return [result.error_code for result in answer.topics], answer.throttle_time_ms


def test_creation_goes_into_debt_once_and_is_refused_then(bench: MetadataBench) -> None:
    assert create(bench, 7, ("a", BURST + 3)) == ([OK], 0)
    assert create(bench, 7, ("b", 1), ("c", 1)) == ([THROTTLED, THROTTLED], 3_000)
    assert bench.topics.get("b") is None
    bench.clock.advance(3)
    assert create(bench, 7, ("b", 1)) == ([OK], 0)


def test_older_versions_are_served_and_told_to_wait(bench: MetadataBench) -> None:
    assert create(bench, 5, ("a", BURST + 3), ("b", 2)) == ([OK, OK], 5_000)


def test_what_cannot_be_created_costs_nothing(bench: MetadataBench) -> None:
    assert create(bench, 7, *[(f"bad name {number}", 50) for number in range(5)])[1] == 0
    assert create(bench, 7, ("a", 1_000), validate_only=True) == ([OK], 0)
    assert create(bench, 7, ("a", BURST)) == ([OK], 0)
    assert create(bench, 7, ("bad name", 1)) == ([INVALID_TOPIC], 0)


@pytest.mark.parametrize(("version", "expected"), [(6, ([THROTTLED], 2_000)), (4, ([OK], 6_000))])
def test_deletion_counts_the_partitions(
    bench: MetadataBench, version: int, expected: tuple[list[int], int]
) -> None:
    create(bench, 7, ("a", BURST + 2))
    request = (
        DeleteTopicsRequest(topics=[DeleteTopicState("old")])
        if version >= 6
        else DeleteTopicsRequest(topic_names=["old"])
    )
    answer = ask(bench, api_20_delete_topics, version, request)
    codes = [result.error_code for result in answer.responses]
    assert (codes, answer.throttle_time_ms) == expected


def test_deletion_of_what_is_not_there_says_so(bench: MetadataBench) -> None:
    create(bench, 7, ("a", BURST + 2))
    request = DeleteTopicsRequest(topics=[DeleteTopicState("nothing")])
    (result,) = ask(bench, api_20_delete_topics, 6, request).responses
    assert result.error_code == UNKNOWN_TOPIC


@pytest.mark.parametrize(("version", "expected"), [(3, ([THROTTLED], 2_000)), (2, ([OK], 7_000))])
def test_growth_counts_the_new_partitions(
    bench: MetadataBench, version: int, expected: tuple[list[int], int]
) -> None:
    create(bench, 7, ("a", BURST + 2))
    request = CreatePartitionsRequest([CreatePartitionsTopic("old", 9, None)])
    answer = ask(bench, api_37_create_partitions, version, request)
    codes = [result.error_code for result in answer.results]
    assert (codes, answer.throttle_time_ms) == expected


def test_topic_is_not_created_on_the_way_while_there_is_a_debt(bench: MetadataBench) -> None:
    create(bench, 7, ("a", BURST + 2))
    request = MetadataRequest([MetadataRequestTopic(name="new")], allow_auto_topic_creation=True)
    (topic,) = ask(bench, api_03_metadata, 9, request).topics
    assert (topic.error_code, bench.topics.get("new")) == (UNKNOWN_TOPIC, None)
    bench.clock.advance(2)
    (topic,) = ask(bench, api_03_metadata, 9, request).topics
    assert topic.error_code == OK
