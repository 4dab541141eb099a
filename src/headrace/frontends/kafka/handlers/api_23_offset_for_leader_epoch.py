"""OffsetForLeaderEpoch (key 23), versions 2-4: v3 replica id · v4 flexible."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.fetch import raise_if_wrong_epoch
from headrace.codecs.kafka.generated.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)
from headrace.frontends.kafka.authorization import raise_if_topic_refused
from headrace.frontends.kafka.errors import error_code
from headrace.model.errors import HeadraceError, UnknownTopicOrPartition
from headrace.security.acl import Operation

if TYPE_CHECKING:
    from headrace.codecs.kafka.generated.offset_for_leader_epoch import (
        OffsetForLeaderEpochRequest,
        OffsetForLeaderPartition,
    )
    from headrace.frontends.kafka.context import RequestContext

API_KEY = 23
VERSIONS = (2, 4)


def handle(
    request: OffsetForLeaderEpochRequest, context: RequestContext
) -> OffsetForLeaderEpochResponse:
    return OffsetForLeaderEpochResponse(
        0,
        [
            OffsetForLeaderTopicResult(
                topic.topic, [_end_offset(topic.topic, p, context) for p in topic.partitions]
            )
            for topic in request.topics
        ],
    )


def _end_offset(
    topic: str, wanted: OffsetForLeaderPartition, context: RequestContext
) -> EpochEndOffset:
    try:
        raise_if_topic_refused(context, Operation.DESCRIBE, topic)
        partition = context.broker.topics.partition(topic, wanted.partition)
        if partition is None:
            raise UnknownTopicOrPartition(f"there is no partition {topic}-{wanted.partition}")
        raise_if_wrong_epoch(partition, wanted.current_leader_epoch)
    except HeadraceError as error:
        return EpochEndOffset(error_code(error), wanted.partition)
    epoch, end_offset = partition.log.end_offset_for_epoch(wanted.leader_epoch)
    return EpochEndOffset(0, wanted.partition, epoch, end_offset)
