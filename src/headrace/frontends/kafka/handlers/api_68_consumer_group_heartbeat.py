"""ConsumerGroupHeartbeat (key 68), versions 0-1 (KIP-848).

v1 patterns, and member ids made by the client (KIP-1082); in v0 a joiner without an id gets one.

Null stands for: as in the last heartbeat. Ids, not names, address topics in assignments.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from headrace.codecs.kafka.generated.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatResponse,
    ResponseTopicPartitions,
)
from headrace.coordination.groups.consumer_commands import ConsumerHeartbeat
from headrace.frontends.kafka.authorization import (
    raise_if_group_refused,
    raise_if_topic_refused,
)
from headrace.frontends.kafka.errors import NONE, error_code, error_message
from headrace.frontends.kafka.group_answers import ask, raise_if_not_served
from headrace.model.errors import HeadraceError, InvalidRequest
from headrace.security.acl import Operation, ResourceType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.codecs.kafka.generated.consumer_group_heartbeat import (
        ConsumerGroupHeartbeatRequest,
        RequestTopicPartitions,
    )
    from headrace.coordination.groups.consumer_commands import (
        ConsumerHeartbeatReply,
        PartitionsByTopic,
    )
    from headrace.frontends.kafka.context import Pending, RequestContext

API_KEY = 68
VERSIONS = (0, 1)

CLIENT_MADE_MEMBER_ID_FROM = 1


def handle(
    request: ConsumerGroupHeartbeatRequest, context: RequestContext
) -> ConsumerGroupHeartbeatResponse | Pending:
    try:
        raise_if_not_served(context)
        if not request.group_id:
            raise InvalidRequest("the group id must not be empty")
        raise_if_group_refused(context, Operation.READ, request.group_id)
        for name in request.subscribed_topic_names or ():
            raise_if_topic_refused(context, Operation.DESCRIBE, name)
    except HeadraceError as error:
        return _render(error)
    names = request.subscribed_topic_names
    command = ConsumerHeartbeat(
        group_id=request.group_id,
        member_id=request.member_id,
        member_epoch=request.member_epoch,
        instance_id=request.instance_id,
        rack_id=request.rack_id,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        topic_names=None if names is None else frozenset(names),
        pattern=request.subscribed_topic_regex,
        assignor=request.server_assignor,
        owned=_owned(request.topic_partitions),
        client_id=context.client_id or "",
        client_host=f"/{context.host}",
        may_lack_member_id=context.version < CLIENT_MADE_MEMBER_ID_FROM,
        is_visible=(
            None
            if context.broker.access is None
            else partial(context.allows, Operation.DESCRIBE, ResourceType.TOPIC)
        ),
    )
    return ask(context.broker.groups, request.group_id, command, _render)


def _owned(topics: Sequence[RequestTopicPartitions] | None) -> PartitionsByTopic | None:
    if topics is None:
        return None
    owned: PartitionsByTopic = {}
    for topic in topics:
        topic_id = bytes(topic.topic_id)
        owned[topic_id] = owned.get(topic_id, frozenset()) | frozenset(topic.partitions)
    return owned


def _render(reply: Any) -> ConsumerGroupHeartbeatResponse:
    if isinstance(reply, HeadraceError):
        return ConsumerGroupHeartbeatResponse(
            error_code=error_code(reply), error_message=error_message(reply)
        )
    return _accepted(reply)


def _accepted(reply: ConsumerHeartbeatReply) -> ConsumerGroupHeartbeatResponse:
    assignment = None
    if reply.assigned is not None:
        assignment = Assignment(
            [
                ResponseTopicPartitions(topic_id, sorted(partitions))
                for topic_id, partitions in sorted(reply.assigned.items())
            ]
        )
    return ConsumerGroupHeartbeatResponse(
        0,
        NONE,
        None,
        reply.member_id,
        reply.member_epoch,
        reply.heartbeat_interval_ms,
        assignment,
    )
