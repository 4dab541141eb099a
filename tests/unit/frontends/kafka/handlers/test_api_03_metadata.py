"""Metadata: which topics are meant, which are created, and what is told of them."""

from __future__ import annotations

import pytest

from headrace.codecs.kafka.generated.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from headrace.frontends.kafka.context import Pending
from headrace.frontends.kafka.handlers.api_03_metadata import handle
from headrace.testing.metadata_bench import MetadataBench

UNKNOWN_TOPIC, INVALID_TOPIC, INVALID_REQUEST, UNKNOWN_TOPIC_ID = 3, 17, 42, 100
NOT_ASKED = -2147483648


@pytest.fixture
def bench() -> MetadataBench:
    bench = MetadataBench()
    bench.create("orders", 2)
    bench.create("users", 1)
    bench.settle()
    return bench


def ask(
    bench: MetadataBench, topics: list[str] | None, version: int = 13, **more: bool
) -> MetadataResponse:
    wanted = None if topics is None else [MetadataRequestTopic(name=name) for name in topics]
    answer = handle(MetadataRequest(wanted, **more), bench.context(version))
    assert isinstance(answer, MetadataResponse)
    return answer


def test_broker_is_the_listener_that_was_asked(bench: MetadataBench) -> None:
    answer = ask(bench, [])
    (broker,) = answer.brokers
    assert (broker.node_id, broker.host, broker.port) == (1, "broker.example", 9092)
    assert broker.rack is None
    assert answer.controller_id == 1
    assert answer.cluster_id == bench.store.cluster.cluster_id
    assert answer.cluster_authorized_operations == NOT_ASKED


@pytest.mark.parametrize(
    ("version", "topics", "names"),
    [
        (0, [], ["orders", "users"]),
        (1, [], []),
        (1, None, ["orders", "users"]),
        (13, None, ["orders", "users"]),
        (13, ["users", "users"], ["users"]),
    ],
)
def test_topics_that_are_meant(
    bench: MetadataBench, version: int, topics: list[str] | None, names: list[str]
) -> None:
    assert [topic.name for topic in ask(bench, topics, version).topics] == names


def test_partitions_are_led_here(bench: MetadataBench) -> None:
    (topic,) = ask(bench, ["orders"]).topics
    found = bench.topics.get("orders")
    assert found is not None
    assert (topic.error_code, topic.topic_id, topic.is_internal) == (0, found.id, False)
    assert [partition.partition_index for partition in topic.partitions] == [0, 1]
    for partition in topic.partitions:
        assert (partition.error_code, partition.leader_id, partition.leader_epoch) == (0, 1, 0)
        assert tuple(partition.replica_nodes) == tuple(partition.isr_nodes) == (1,)
        assert tuple(partition.offline_replicas) == ()
    assert topic.topic_authorized_operations == NOT_ASKED


def test_operations_are_told_when_asked(bench: MetadataBench) -> None:
    answer = ask(
        bench,
        ["orders"],
        10,
        include_cluster_authorized_operations=True,
        include_topic_authorized_operations=True,
    )
    assert answer.cluster_authorized_operations > 0
    assert answer.topics[0].topic_authorized_operations > 0


def test_missing_topic_is_created_and_answered_when_durable(bench: MetadataBench) -> None:
    request = MetadataRequest([MetadataRequestTopic(name="new")])
    pending = handle(request, bench.context(13))
    assert isinstance(pending, Pending)
    answers: list[MetadataResponse] = []
    pending.attach(answers.append)
    bench.settle()
    (topic,) = answers[0].topics
    assert (topic.error_code, topic.name, len(topic.partitions)) == (0, "new", 1)
    assert topic.topic_id != bytes(16)


def test_missing_topic_is_not_created_when_the_client_or_the_broker_declines() -> None:
    bench = MetadataBench()
    (topic,) = ask(bench, ["new"], allow_auto_topic_creation=False).topics
    assert topic.error_code == UNKNOWN_TOPIC
    bench = MetadataBench({"auto.create.topics.enable": "false"})
    (topic,) = ask(bench, ["new"]).topics
    assert topic.error_code == UNKNOWN_TOPIC
    assert len(bench.topics) == 0


def test_illegal_names_are_refused(bench: MetadataBench) -> None:
    bench.create("a.b")
    bench.settle()
    answer = ask(bench, ["bad name", "", "a_b", "__consumer_offsets"])
    codes = [topic.error_code for topic in answer.topics]
    assert codes == [INVALID_TOPIC, INVALID_TOPIC, INVALID_TOPIC, UNKNOWN_TOPIC]
    assert answer.topics[3].is_internal


def test_topics_are_found_by_id(bench: MetadataBench) -> None:
    users = bench.topics.get("users")
    assert users is not None
    wanted = [
        MetadataRequestTopic(topic_id=users.id, name=None),
        MetadataRequestTopic(topic_id=b"?" * 16, name=None),
        MetadataRequestTopic(name=None),
    ]
    answer = handle(MetadataRequest(wanted), bench.context(12))
    assert isinstance(answer, MetadataResponse)
    told = [(topic.name, topic.error_code) for topic in answer.topics]
    assert told == [("users", 0), (None, UNKNOWN_TOPIC_ID), (None, INVALID_REQUEST)]
    older = handle(MetadataRequest(wanted[:1]), bench.context(11))
    assert isinstance(older, MetadataResponse)
    assert (older.topics[0].name, older.topics[0].error_code) == ("", INVALID_REQUEST)
