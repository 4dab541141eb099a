"""CreateTopics: errors are per topic, and the answer tells what was made."""

from __future__ import annotations

import pytest

from headrace.codecs.kafka.generated.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from headrace.frontends.kafka.context import Pending
from headrace.frontends.kafka.handlers.api_19_create_topics import handle
from headrace.testing.metadata_bench import MetadataBench


@pytest.fixture
def bench() -> MetadataBench:
    return MetadataBench()


def create(
    bench: MetadataBench, *topics: CreatableTopic, version: int = 7, validate_only: bool = False
) -> list[CreatableTopicResult]:
    request = CreateTopicsRequest(topics, validate_only=validate_only)
    answer = handle(request, bench.context(version))
    if isinstance(answer, Pending):
        answers: list[CreateTopicsResponse] = []
        answer.attach(answers.append)
        bench.settle()
        answer = answers[0]
    return list(answer.topics)


def test_created_topic_is_told_with_id_numbers_and_settings(bench: MetadataBench) -> None:
    configs = [CreatableTopicConfig("retention.ms", "5")]
    (result,) = create(bench, CreatableTopic("orders", 3, 1, configs=configs))
    topic = bench.topics.get("orders")
    assert topic is not None
    assert (result.error_code, result.error_message, result.topic_id) == (0, None, topic.id)
    assert (result.num_partitions, result.replication_factor) == (3, 1)
    settings = {config.name: config for config in result.configs or ()}
    assert (settings["retention.ms"].value, settings["retention.ms"].config_source) == ("5", 1)
    assert (settings["segment.bytes"].value, settings["segment.bytes"].config_source) == (
        "1073741824",
        5,
    )


def test_older_versions_get_no_settings(bench: MetadataBench) -> None:
    (result,) = create(bench, CreatableTopic("orders", 3, 1), version=4)
    assert (result.error_code, tuple(result.configs or ())) == (0, ())


def test_each_topic_has_its_own_error(bench: MetadataBench) -> None:
    bench.create("taken")
    results = create(
        bench,
        CreatableTopic("taken", 1, 1),
        CreatableTopic("bad name", 1, 1),
        CreatableTopic("none", 0, 1),
        CreatableTopic("three", 1, 3),
        CreatableTopic("config", 1, 1, configs=[CreatableTopicConfig("retention.ms", "x")]),
        CreatableTopic("null", 1, 1, configs=[CreatableTopicConfig("retention.ms", None)]),
        CreatableTopic("moved", -1, -1, [CreatableReplicaAssignment(0, [9])]),
        CreatableTopic("both", 1, -1, [CreatableReplicaAssignment(0, [1])]),
        CreatableTopic("many", 20_001, 1),
        CreatableTopic("good", -1, -1, [CreatableReplicaAssignment(0, [1])]),
    )
    codes = [result.error_code for result in results]
    assert codes == [36, 17, 37, 38, 40, 40, 39, 42, 44, 0]
    assert all(result.error_message for result in results[:-1])
    assert sorted(topic.name for topic in bench.topics) == ["good", "taken"]


def test_topic_that_is_named_twice_is_not_created(bench: MetadataBench) -> None:
    results = create(
        bench,
        CreatableTopic("twice", 1, 1),
        CreatableTopic("once", 1, 1),
        CreatableTopic("twice", 2, 1),
    )
    assert [(result.name, result.error_code) for result in results] == [("twice", 42), ("once", 0)]


def test_validation_alone_tells_the_same_and_creates_nothing(bench: MetadataBench) -> None:
    (result,) = create(bench, CreatableTopic("orders", -1, -1), validate_only=True)
    assert (result.error_code, result.num_partitions, result.replication_factor) == (0, 1, 1)
    assert len(bench.topics) == 0


def test_answer_waits_until_the_topic_is_durable(bench: MetadataBench) -> None:
    answer = handle(CreateTopicsRequest([CreatableTopic("orders", 1, 1)]), bench.context(7))
    assert isinstance(answer, Pending)
    assert not answer.is_complete
    bench.settle()
    assert answer.is_complete
