"""Heartbeat (key 12), versions 0-4: v1 throttle time · v3 static members · v4 flexible."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.codecs.kafka.generated.heartbeat import HeartbeatResponse
from headrace.coordination.groups.commands import Heartbeat
from headrace.frontends.kafka.authorization import maybe_group_refusal
from headrace.frontends.kafka.errors import NONE, error_code
from headrace.frontends.kafka.group_answers import ask
from headrace.security.acl import Operation

if TYPE_CHECKING:
    from headrace.codecs.kafka.generated.heartbeat import HeartbeatRequest
    from headrace.frontends.kafka.context import Pending, RequestContext

API_KEY = 12
VERSIONS = (0, 4)


def handle(request: HeartbeatRequest, context: RequestContext) -> HeartbeatResponse | Pending:
    refusal = maybe_group_refusal(context, Operation.READ, request.group_id)
    if refusal is not None:
        return _render(refusal)
    command = Heartbeat(
        request.group_id, request.generation_id, request.member_id, request.group_instance_id
    )
    return ask(context.broker.groups, request.group_id, command, _render)


def _render(reply: Any) -> HeartbeatResponse:
    return HeartbeatResponse(0, NONE if reply is None else error_code(reply))
