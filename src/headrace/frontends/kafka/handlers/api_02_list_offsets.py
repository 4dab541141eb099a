"""ListOffsets (key 2), versions 1-11.

v2 isolation level · v4 leader epochs · v6 flexible · v7 max timestamp (-3) · v8 earliest local
(-4) · v9 last tiered (-5) · v10 time-out · v11 earliest pending upload (-6).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from headrace.broker.fetch import raise_if_wrong_epoch
from headrace.codecs.kafka.generated.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from headrace.frontends.kafka.authorization import raise_if_topic_refused
from headrace.frontends.kafka.errors import error_code
from headrace.model.errors import (
    HeadraceError,
    InvalidRequest,
    UnknownTopicOrPartition,
    UnsupportedVersion,
)
from headrace.security.acl import Operation

if TYPE_CHECKING:
    from headrace.broker.topics import Partition
    from headrace.codecs.kafka.generated.list_offsets import (
        ListOffsetsPartition,
        ListOffsetsRequest,
    )
    from headrace.frontends.kafka.context import RequestContext

API_KEY = 2
VERSIONS = (1, 11)

LATEST, EARLIEST, MAX_TIMESTAMP = -1, -2, -3
EARLIEST_LOCAL, LAST_TIERED, PENDING_UPLOAD = -4, -5, -6
_SPECIAL_SINCE = {MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LAST_TIERED: 9, PENDING_UPLOAD: 11}
READ_COMMITTED = 1
NOTHING = (-1, -1)


def handle(request: ListOffsetsRequest, context: RequestContext) -> ListOffsetsResponse:
    asked = Counter((t.name, p.partition_index) for t in request.topics for p in t.partitions)
    committed_only = request.isolation_level == READ_COMMITTED
    topics = []
    for topic in request.topics:
        responses = []
        for wanted in topic.partitions:
            try:
                raise_if_topic_refused(context, Operation.DESCRIBE, topic.name)
                if asked[topic.name, wanted.partition_index] > 1:
                    raise InvalidRequest("a partition is named twice")
                answer = _find(topic.name, wanted, committed_only, context)
            except HeadraceError as error:
                answer = ListOffsetsPartitionResponse(wanted.partition_index, error_code(error))
            responses.append(answer)
        topics.append(ListOffsetsTopicResponse(topic.name, responses))
    return ListOffsetsResponse(0, topics)


def _find(
    topic: str, wanted: ListOffsetsPartition, committed_only: bool, context: RequestContext
) -> ListOffsetsPartitionResponse:
    partition = context.broker.topics.partition(topic, wanted.partition_index)
    if partition is None:
        raise UnknownTopicOrPartition(f"there is no partition {topic}-{wanted.partition_index}")
    raise_if_wrong_epoch(partition, wanted.current_leader_epoch)
    if context.version < _SPECIAL_SINCE.get(wanted.timestamp, 0):
        raise UnsupportedVersion(f"timestamp {wanted.timestamp} in version {context.version}")
    timestamp, offset = _offset(partition, wanted.timestamp, committed_only)
    epoch = partition.leader_epoch if offset >= 0 else -1
    return ListOffsetsPartitionResponse(wanted.partition_index, 0, timestamp, offset, epoch)


def _offset(partition: Partition, timestamp: int, committed_only: bool) -> tuple[int, int]:
    """(timestamp, offset); the special values answer with no timestamp of their own."""
    log = partition.log
    end_offset = log.high_watermark
    if committed_only:
        # DeleteRecords may have passed the beginning of a transaction that is open.
        end_offset = max(log.last_stable_offset, log.log_start_offset)
    if timestamp == LATEST:
        return -1, end_offset
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        return -1, log.log_start_offset
    if timestamp in (LAST_TIERED, PENDING_UPLOAD):
        return NOTHING  # nothing is tiered
    if timestamp < 0 and timestamp != MAX_TIMESTAMP:
        raise InvalidRequest(f"timestamp {timestamp} has no meaning")
    found = (
        log.offset_of_max_timestamp()
        if timestamp == MAX_TIMESTAMP
        else log.offset_for_timestamp(timestamp)
    )
    if found is None or found[1] >= end_offset:
        return NOTHING
    return found
