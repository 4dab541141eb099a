"""SyncGroup (key 14), versions 0-5.

v1 throttle time · v3 static members · v4 flexible · v5 protocol type and name, which must be those
of the group.

Followers are answered when the leader has sent the assignment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.codecs.kafka.generated.sync_group import SyncGroupResponse
from headrace.coordination.groups.commands import SyncGroup
from headrace.frontends.kafka.authorization import maybe_group_refusal
from headrace.frontends.kafka.errors import NONE, error_code
from headrace.frontends.kafka.group_answers import ask
from headrace.model.errors import HeadraceError
from headrace.security.acl import Operation

if TYPE_CHECKING:
    from headrace.codecs.kafka.generated.sync_group import SyncGroupRequest
    from headrace.frontends.kafka.context import Pending, RequestContext

API_KEY = 14
VERSIONS = (0, 5)


def handle(request: SyncGroupRequest, context: RequestContext) -> SyncGroupResponse | Pending:
    refusal = maybe_group_refusal(context, Operation.READ, request.group_id)
    if refusal is not None:
        return _render(refusal)
    command = SyncGroup(
        request.group_id,
        request.generation_id,
        request.member_id,
        request.group_instance_id,
        request.protocol_type,
        request.protocol_name,
        {each.member_id: bytes(each.assignment) for each in request.assignments},
    )
    return ask(context.broker.groups, request.group_id, command, _render)


def _render(reply: Any) -> SyncGroupResponse:
    if isinstance(reply, HeadraceError):
        return SyncGroupResponse(error_code=error_code(reply))
    return SyncGroupResponse(0, NONE, reply.protocol_type, reply.protocol_name, reply.assignment)
