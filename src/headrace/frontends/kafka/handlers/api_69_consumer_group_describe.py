"""ConsumerGroupDescribe (key 69), versions 0-1 (KIP-848): v1 tells the protocol of each member.

For groups of the consumer protocol only: a classic one is GROUP_ID_NOT_FOUND here, upon which
clients ask DescribeGroups.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.codecs.kafka.generated.consumer_group_describe import (
    Assignment,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
    Member,
    TopicPartitions,
)
from headrace.coordination.groups.consumer_commands import DescribeConsumerGroup
from headrace.frontends.kafka.authorization import maybe_group_refusal
from headrace.frontends.kafka.authorized_operations import group_operations
from headrace.frontends.kafka.errors import NONE, error_code, error_message
from headrace.frontends.kafka.group_answers import ask_each, raise_if_not_served
from headrace.model.errors import HeadraceError, TopicAuthorizationFailed
from headrace.security.acl import Operation, ResourceType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.codecs.kafka.generated.consumer_group_describe import (
        ConsumerGroupDescribeRequest,
    )
    from headrace.coordination.groups.consumer_commands import (
        DescribedConsumer,
        DescribedConsumerGroup,
        DescribedTopic,
    )
    from headrace.frontends.kafka.context import Pending, RequestContext

API_KEY = 69
VERSIONS = (0, 1)

CONSUMER_MEMBER = 1
"""The member speaks the consumer protocol (0: the classic one)."""


def handle(
    request: ConsumerGroupDescribeRequest, context: RequestContext
) -> ConsumerGroupDescribeResponse | Pending:
    try:
        raise_if_not_served(context)
    except HeadraceError as error:
        return ConsumerGroupDescribeResponse(
            groups=[_refused(group_id, error) for group_id in request.group_ids]
        )
    is_asked = request.include_authorized_operations

    def render(replies: Sequence[Any]) -> ConsumerGroupDescribeResponse:
        return ConsumerGroupDescribeResponse(
            groups=[
                _refused(group_id, reply)
                if isinstance(reply, HeadraceError)
                else _described_or_refused(reply, context, is_asked=is_asked)
                for group_id, reply in zip(request.group_ids, replies, strict=True)
            ]
        )

    commands = [
        (
            group_id,
            maybe_group_refusal(context, Operation.DESCRIBE, group_id)
            or DescribeConsumerGroup(group_id),
        )
        for group_id in request.group_ids
    ]
    return ask_each(context.broker.groups, commands, render)


def _refused(group_id: str, error: HeadraceError) -> DescribedGroup:
    return DescribedGroup(error_code(error), error_message(error), group_id)


def _described_or_refused(
    group: DescribedConsumerGroup, context: RequestContext, *, is_asked: bool
) -> DescribedGroup:
    """A group whose members read a topic that may not be described is not described at all."""
    topics = {
        topic.name for member in group.members for topic in (*member.assigned, *member.target)
    }
    if all(context.allows(Operation.DESCRIBE, ResourceType.TOPIC, name) for name in topics):
        operations = group_operations(context, group.group_id, is_asked=is_asked)
        return _described(group, operations)
    error = TopicAuthorizationFailed("the group reads topics that may not be described")
    return _refused(group.group_id, error)


def _described(group: DescribedConsumerGroup, operations: int) -> DescribedGroup:
    return DescribedGroup(
        NONE,
        None,
        group.group_id,
        group.state,
        group.group_epoch,
        group.assignment_epoch,
        group.assignor,
        [_described_member(member) for member in group.members],
        operations,
    )


def _described_member(member: DescribedConsumer) -> Member:
    return Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.member_epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=member.topic_names,
        subscribed_topic_regex=member.pattern,
        assignment=_assignment(member.assigned),
        target_assignment=_assignment(member.target),
        member_type=CONSUMER_MEMBER,
    )


def _assignment(topics: Sequence[DescribedTopic]) -> Assignment:
    return Assignment([TopicPartitions(*topic) for topic in topics])
