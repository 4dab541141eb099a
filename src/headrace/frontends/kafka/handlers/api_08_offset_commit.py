"""OffsetCommit (key 8), versions 2-10.

v2-4 a retention of the client's own · v3 throttle time · v6 leader epoch · v7 static members ·
v8 flexible · v9 the generation may be a member epoch (KIP-848), GROUP_ID_NOT_FOUND and
STALE_MEMBER_EPOCH · v10 topics by id.

Offsets of topics that do not exist, or may not be read, are refused one by one; what refuses the
member refuses all the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.codecs.kafka.generated.offset_commit import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from headrace.coordination.groups.commands import CommitOffsets, OffsetToCommit
from headrace.frontends.kafka.authorization import maybe_group_refusal, maybe_topic_refusal
from headrace.frontends.kafka.errors import NONE, error_code
from headrace.frontends.kafka.group_answers import ask
from headrace.model.errors import HeadraceError, UnknownTopicId, UnknownTopicOrPartition
from headrace.model.topic import TopicPartition
from headrace.security.acl import Operation

if TYPE_CHECKING:
    from headrace.broker.topics import Topic
    from headrace.codecs.kafka.generated.offset_commit import (
        OffsetCommitRequest,
        OffsetCommitRequestPartition,
        OffsetCommitRequestTopic,
    )
    from headrace.frontends.kafka.context import Pending, RequestContext

API_KEY = 8
VERSIONS = (2, 10)

RETENTION_UNTIL = 4
MEMBER_EPOCHS_FROM = 9
TOPIC_IDS_FROM = 10
NO_RETENTION = -1


def handle(request: OffsetCommitRequest, context: RequestContext) -> OffsetCommitResponse | Pending:
    group_refusal = maybe_group_refusal(context, Operation.READ, request.group_id)
    offsets: list[OffsetToCommit] = []
    accepted: list[OffsetCommitResponsePartition] = []
    topics = []
    for wanted in request.topics:
        topic = _known_topic(wanted, context)
        refusal = group_refusal or _maybe_refusal(wanted, topic, context)
        answers = []
        for partition in wanted.partitions:
            answer = OffsetCommitResponsePartition(partition.partition_index)
            answers.append(answer)
            if refusal is not None:
                answer.error_code = error_code(refusal)
            elif topic is not None and 0 <= partition.partition_index < len(topic.partitions):
                offsets.append(_offset(topic, wanted, partition))
                accepted.append(answer)
            else:
                answer.error_code = error_code(_unknown(topic, context))
        topics.append(OffsetCommitResponseTopic(wanted.name, wanted.topic_id, answers))
    response = OffsetCommitResponse(0, topics)
    if not offsets:
        return response

    def render(reply: Any) -> OffsetCommitResponse:
        _mark(accepted, reply)
        return response

    return ask(context.broker.groups, request.group_id, _command(request, context, offsets), render)


def _known_topic(wanted: OffsetCommitRequestTopic, context: RequestContext) -> Topic | None:
    topics = context.broker.topics
    if context.version >= TOPIC_IDS_FROM:
        return topics.by_id(wanted.topic_id)
    return topics.get(wanted.name)


def _maybe_refusal(
    wanted: OffsetCommitRequestTopic, topic: Topic | None, context: RequestContext
) -> HeadraceError | None:
    if context.version < TOPIC_IDS_FROM:
        return maybe_topic_refusal(context, Operation.READ, wanted.name)
    return None if topic is None else maybe_topic_refusal(context, Operation.READ, topic.name)


def _unknown(topic: Topic | None, context: RequestContext) -> HeadraceError:
    if topic is None and context.version >= TOPIC_IDS_FROM:
        return UnknownTopicId("there is no topic with this id")
    return UnknownTopicOrPartition("there is no such partition")


def _offset(
    topic: Topic, wanted: OffsetCommitRequestTopic, partition: OffsetCommitRequestPartition
) -> OffsetToCommit:
    return OffsetToCommit(
        TopicPartition(topic.name, partition.partition_index),
        partition.committed_offset,
        partition.committed_leader_epoch,
        partition.committed_metadata or "",
        wanted.topic_id,
    )


def _command(
    request: OffsetCommitRequest, context: RequestContext, offsets: list[OffsetToCommit]
) -> CommitOffsets:
    has_retention = context.version <= RETENTION_UNTIL and request.retention_time_ms != NO_RETENTION
    return CommitOffsets(
        request.group_id,
        request.member_id,
        request.group_instance_id,
        request.generation_id_or_member_epoch,
        offsets,
        request.retention_time_ms if has_retention else None,
        context.version >= MEMBER_EPOCHS_FROM,
    )


def _mark(answers: list[OffsetCommitResponsePartition], reply: Any) -> None:
    if isinstance(reply, HeadraceError):
        reply = [reply] * len(answers)
    for answer, outcome in zip(answers, reply, strict=True):
        answer.error_code = NONE if outcome is None else error_code(outcome)
