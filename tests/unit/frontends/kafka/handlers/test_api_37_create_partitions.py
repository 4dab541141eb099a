"""CreatePartitions: topics grow, each with its own answer."""

from __future__ import annotations

import pytest

from headrace.codecs.kafka.generated.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from headrace.frontends.kafka.context import Pending
from headrace.frontends.kafka.handlers.api_37_create_partitions import handle
from headrace.testing.metadata_bench import MetadataBench


@pytest.fixture
def bench() -> MetadataBench:
    bench = MetadataBench()
    bench.create("orders", 2)
    bench.settle()
    return bench


def grow(
    bench: MetadataBench, *topics: CreatePartitionsTopic, validate_only: bool = False
) -> list[tuple[str, int]]:
    request = CreatePartitionsRequest(topics, validate_only=validate_only)
    answer = handle(request, bench.context(3))
    if isinstance(answer, Pending):
        answers: list[CreatePartitionsResponse] = []
        answer.attach(answers.append)
        bench.settle()
        answer = answers[0]
    return [(result.name, result.error_code) for result in answer.results]


def test_topic_grows(bench: MetadataBench) -> None:
    assert grow(bench, CreatePartitionsTopic("orders", 5, None)) == [("orders", 0)]
    assert bench.topics.partition_count == 5


def test_every_topic_is_answered(bench: MetadataBench) -> None:
    wrong_node = [CreatePartitionsAssignment([9])]
    told = grow(
        bench,
        CreatePartitionsTopic("orders", 2, None),
        CreatePartitionsTopic("unknown", 2, None),
    )
    assert told == [("orders", 37), ("unknown", 3)]
    assert grow(bench, CreatePartitionsTopic("orders", 3, wrong_node)) == [("orders", 39)]
    right_node = [CreatePartitionsAssignment([1])]
    assert grow(bench, CreatePartitionsTopic("orders", 3, right_node)) == [("orders", 0)]


def test_topic_that_is_named_twice_does_not_grow(bench: MetadataBench) -> None:
    twice = CreatePartitionsTopic("orders", 3, None), CreatePartitionsTopic("orders", 4, None)
    assert grow(bench, *twice) == [("orders", 42)]
    assert bench.topics.partition_count == 2


def test_validation_alone_changes_nothing(bench: MetadataBench) -> None:
    wish = CreatePartitionsTopic("orders", 5, None)
    assert grow(bench, wish, validate_only=True) == [("orders", 0)]
    assert bench.topics.partition_count == 2
