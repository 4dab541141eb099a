"""DescribeTopicPartitions (key 75), version 0 (KIP-966).

Topics in order of their names, partitions in order of their indexes, at most so many partitions per
answer; the cursor says where the next answer begins. No topics means all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.codecs.kafka.generated.describe_topic_partitions import (
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
    ResponseCursor,
)
from headrace.frontends.kafka.authorization import maybe_topic_refusal
from headrace.frontends.kafka.authorized_operations import topic_operations
from headrace.frontends.kafka.errors import error_code
from headrace.model.errors import HeadraceError, InvalidRequest, UnknownTopicOrPartition
from headrace.model.topic import INTERNAL_TOPICS, raise_if_illegal_topic_name
from headrace.security.acl import Operation, ResourceType

if TYPE_CHECKING:
    from headrace.broker.topics import Topic
    from headrace.codecs.kafka.generated.describe_topic_partitions import (
        DescribeTopicPartitionsRequest,
    )
    from headrace.frontends.kafka.context import RequestContext

API_KEY = 75
VERSIONS = (0, 0)


def handle(
    request: DescribeTopicPartitionsRequest, context: RequestContext
) -> DescribeTopicPartitionsResponse:
    topics = context.broker.topics
    cursor = request.cursor
    names = {topic.name for topic in request.topics} or _visible(context)
    limit = context.broker.config.max_request_partition_size_limit
    left = min(request.response_partition_limit, limit)
    if left < 1 or (cursor is not None and cursor.partition_index < 0):
        return _refused(names)
    response = DescribeTopicPartitionsResponse(topics=(answers := []))
    for name in sorted(names):
        if cursor is not None and name < cursor.topic_name:
            continue
        refusal = maybe_topic_refusal(context, Operation.DESCRIBE, name)
        topic = topics.get(name)
        if topic is None or refusal is not None:
            answers.append(_unknown(name) if refusal is None else _failed(name, refusal))
            continue
        start = cursor.partition_index if cursor and name == cursor.topic_name else 0
        if left == 0:
            response.next_cursor = ResponseCursor(name, start)
            break
        answers.append(_described(topic, start, left, context))
        end = start + len(answers[-1].partitions)
        left -= end - start
        if end < len(topic.partitions):
            response.next_cursor = ResponseCursor(name, end)
            break
    return response


def _visible(context: RequestContext) -> set[str]:
    return {
        topic.name
        for topic in context.broker.topics
        if context.allows(Operation.DESCRIBE, ResourceType.TOPIC, topic.name)
    }


def _described(
    topic: Topic, start: int, count_max: int, context: RequestContext
) -> DescribeTopicPartitionsResponseTopic:
    node_id = context.broker.cluster.node_id
    replicas = (node_id,)
    return DescribeTopicPartitionsResponseTopic(
        name=topic.name,
        topic_id=topic.id,
        is_internal=topic.is_internal,
        partitions=[
            DescribeTopicPartitionsResponsePartition(
                partition_index=partition.index,
                leader_id=node_id,
                leader_epoch=partition.leader_epoch,
                replica_nodes=replicas,
                isr_nodes=replicas,
                eligible_leader_replicas=(),
                last_known_elr=(),
            )
            for partition in topic.partitions[start : start + count_max]
        ],
        topic_authorized_operations=topic_operations(context, topic.name, is_asked=True),
    )


def _unknown(name: str) -> DescribeTopicPartitionsResponseTopic:
    error: HeadraceError = UnknownTopicOrPartition(f"there is no topic {name!r}")
    try:
        raise_if_illegal_topic_name(name)
    except HeadraceError as illegal:
        error = illegal
    return _failed(name, error)


def _refused(names: set[str]) -> DescribeTopicPartitionsResponse:
    error = InvalidRequest("the partition limit or the cursor is illegal")
    return DescribeTopicPartitionsResponse(topics=[_failed(name, error) for name in sorted(names)])


def _failed(name: str, error: HeadraceError) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        error_code=error_code(error), name=name, is_internal=name in INTERNAL_TOPICS
    )
