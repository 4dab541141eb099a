"""OffsetDelete (key 47), version 0.

Offsets of a topic that the group is subscribed to are kept, and so is every offset of a group with
members that are not consumers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.codecs.kafka.generated.offset_delete import (
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from headrace.coordination.groups.commands import DeleteOffsets
from headrace.frontends.kafka.authorization import maybe_group_refusal, maybe_topic_refusal
from headrace.frontends.kafka.errors import NONE, error_code
from headrace.frontends.kafka.group_answers import ask
from headrace.model.errors import HeadraceError, UnknownTopicOrPartition
from headrace.model.topic import TopicPartition
from headrace.security.acl import Operation

if TYPE_CHECKING:
    from headrace.codecs.kafka.generated.offset_delete import OffsetDeleteRequest
    from headrace.frontends.kafka.context import Pending, RequestContext

API_KEY = 47
VERSIONS = (0, 0)


def handle(request: OffsetDeleteRequest, context: RequestContext) -> OffsetDeleteResponse | Pending:
    refusal = maybe_group_refusal(context, Operation.DELETE, request.group_id)
    if refusal is not None:
        return OffsetDeleteResponse(error_code=error_code(refusal))
    partitions: list[TopicPartition] = []
    accepted: list[OffsetDeleteResponsePartition] = []
    topics = []
    for topic in request.topics:
        topic_refusal = maybe_topic_refusal(context, Operation.READ, topic.name)
        answers = []
        for wanted in topic.partitions:
            answer = OffsetDeleteResponsePartition(wanted.partition_index)
            answers.append(answer)
            if topic_refusal is not None:
                answer.error_code = error_code(topic_refusal)
            elif context.broker.topics.partition(topic.name, wanted.partition_index) is None:
                answer.error_code = error_code(UnknownTopicOrPartition())
            else:
                partitions.append(TopicPartition(topic.name, wanted.partition_index))
                accepted.append(answer)
        topics.append(OffsetDeleteResponseTopic(topic.name, answers))

    def render(reply: Any) -> OffsetDeleteResponse:
        if isinstance(reply, HeadraceError):
            return OffsetDeleteResponse(error_code=error_code(reply))
        for answer, outcome in zip(accepted, reply, strict=True):
            answer.error_code = NONE if outcome is None else error_code(outcome)
        return OffsetDeleteResponse(topics=topics)

    command = DeleteOffsets(request.group_id, partitions)
    return ask(context.broker.groups, request.group_id, command, render)
