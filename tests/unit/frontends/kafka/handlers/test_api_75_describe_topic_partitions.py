"""DescribeTopicPartitions: in order, in portions."""

from __future__ import annotations

import pytest

from headrace.codecs.kafka.generated.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    RequestCursor,
    TopicRequest,
)
from headrace.frontends.kafka.handlers.api_75_describe_topic_partitions import handle
from headrace.testing.metadata_bench import MetadataBench


@pytest.fixture
def bench() -> MetadataBench:
    bench = MetadataBench()
    for name, count in (("b", 3), ("a", 2), ("c", 1)):
        bench.create(name, count)
    return bench


def describe(
    bench: MetadataBench,
    *names: str,
    limit: int = 2000,
    cursor: RequestCursor | None = None,
) -> DescribeTopicPartitionsResponse:
    topics = [TopicRequest(name) for name in names]
    return handle(DescribeTopicPartitionsRequest(topics, limit, cursor), bench.context(0))


def told(answer: DescribeTopicPartitionsResponse) -> list[tuple[str | None, list[int]]]:
    return [
        (topic.name, [partition.partition_index for partition in topic.partitions])
        for topic in answer.topics
    ]


def test_brokers_own_limit_counts_as_well() -> None:
    bench = MetadataBench({"max.request.partition.size.limit": "2"})
    bench.create("a", 3)
    answer = describe(bench)
    assert told(answer) == [("a", [0, 1])]
    assert answer.next_cursor is not None


def test_all_topics_come_in_order_of_their_names(bench: MetadataBench) -> None:
    answer = describe(bench)
    assert told(answer) == [("a", [0, 1]), ("b", [0, 1, 2]), ("c", [0])]
    assert answer.next_cursor is None
    partition = answer.topics[0].partitions[0]
    assert (partition.leader_id, partition.leader_epoch) == (1, 0)
    assert tuple(partition.replica_nodes) == tuple(partition.isr_nodes) == (1,)
    assert answer.topics[0].topic_authorized_operations > 0


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 6])
def test_portions_make_up_the_whole(bench: MetadataBench, limit: int) -> None:
    cursor, found, portions = None, [], 0
    while True:
        answer = describe(bench, limit=limit, cursor=cursor)
        portion = [(topic, index) for topic, indexes in told(answer) for index in indexes]
        assert len(portion) <= limit
        found += portion
        portions += 1
        if answer.next_cursor is None:
            break
        cursor = RequestCursor(answer.next_cursor.topic_name, answer.next_cursor.partition_index)
    assert found == [("a", 0), ("a", 1), ("b", 0), ("b", 1), ("b", 2), ("c", 0)]
    assert portions == -(-6 // limit)


def test_cursor_at_a_topic_that_is_gone_goes_on_with_the_next(bench: MetadataBench) -> None:
    answer = describe(bench, cursor=RequestCursor("aa", 7))
    assert told(answer) == [("b", [0, 1, 2]), ("c", [0])]


def test_unknown_topics_are_told(bench: MetadataBench) -> None:
    answer = describe(bench, "c", "nope", "bad name")
    codes = [(topic.name, topic.error_code) for topic in answer.topics]
    assert codes == [("bad name", 17), ("c", 0), ("nope", 3)]


@pytest.mark.parametrize(("limit", "cursor"), [(0, None), (-1, None), (5, RequestCursor("a", -1))])
def test_illegal_portions_are_refused(
    bench: MetadataBench, limit: int, cursor: RequestCursor | None
) -> None:
    answer = describe(bench, "a", limit=limit, cursor=cursor)
    assert [(topic.name, topic.error_code) for topic in answer.topics] == [("a", 42)]
