"""DeleteTopics: by name, by id, and what is refused."""

from __future__ import annotations

import pytest

from headrace.codecs.kafka.generated.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from headrace.frontends.kafka.context import Pending
from headrace.frontends.kafka.handlers.api_20_delete_topics import handle
from headrace.testing.metadata_bench import MetadataBench


@pytest.fixture
def bench() -> MetadataBench:
    bench = MetadataBench()
    for name in ("a", "b", "__consumer_offsets"):
        bench.create(name)
    bench.settle()
    return bench


def delete(
    bench: MetadataBench, request: DeleteTopicsRequest, version: int
) -> list[DeletableTopicResult]:
    answer = handle(request, bench.context(version))
    if isinstance(answer, Pending):
        answers: list[DeleteTopicsResponse] = []
        answer.attach(answers.append)
        bench.settle()
        answer = answers[0]
    return list(answer.responses)


def id_of(bench: MetadataBench, name: str) -> bytes:
    topic = bench.topics.get(name)
    assert topic is not None
    return topic.id


def test_topics_are_deleted_by_name(bench: MetadataBench) -> None:
    results = delete(bench, DeleteTopicsRequest(["a", "unknown"]), 5)
    assert [(result.name, result.error_code) for result in results] == [("a", 0), ("unknown", 3)]
    assert "a" not in bench.topics


def test_topics_are_deleted_by_name_or_id(bench: MetadataBench) -> None:
    id_a, id_b = id_of(bench, "a"), id_of(bench, "b")
    wanted = [
        DeleteTopicState("a"),
        DeleteTopicState(None, id_b),
        DeleteTopicState(None, b"?" * 16),
        DeleteTopicState(None),
        DeleteTopicState("both", b"!" * 16),
    ]
    results = delete(bench, DeleteTopicsRequest(topics=wanted), 6)
    told = [(result.name, result.topic_id, result.error_code) for result in results]
    assert told == [
        ("a", id_a, 0),
        ("b", id_b, 0),
        (None, b"?" * 16, 100),
        (None, bytes(16), 42),
        ("both", b"!" * 16, 42),
    ]


def test_topic_that_is_meant_twice_is_not_deleted(bench: MetadataBench) -> None:
    wanted = [
        DeleteTopicState("a"),
        DeleteTopicState(None, id_of(bench, "a")),
        DeleteTopicState("b"),
    ]
    results = delete(bench, DeleteTopicsRequest(topics=wanted), 6)
    assert [result.error_code for result in results] == [42, 42, 0]
    assert "a" in bench.topics


def test_internal_topics_can_be_deleted_as_in_kafka(bench: MetadataBench) -> None:
    (result,) = delete(bench, DeleteTopicsRequest(["__consumer_offsets"]), 4)
    assert result.error_code == 0


@pytest.mark.parametrize(("version", "code"), [(1, 42), (2, 42), (3, 73), (6, 73)])
def test_deletion_that_is_switched_off_has_a_code_by_version(version: int, code: int) -> None:
    bench = MetadataBench({"delete.topic.enable": "false"})
    bench.create("a")
    request = (
        DeleteTopicsRequest(["a"])
        if version < 6
        else DeleteTopicsRequest(topics=[DeleteTopicState("a")])
    )
    (result,) = delete(bench, request, version)
    assert result.error_code == code
    assert "a" in bench.topics
