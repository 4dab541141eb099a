"""JoinGroup (key 11), versions 0-9.

v1 rebalance time-out of its own · v2 throttle time · v4 MEMBER_ID_REQUIRED (KIP-394) · v5 static
members · v6 flexible · v7 protocol type in the answer, the name may be null · v8 reason · v9 a
static leader that comes back need not assign (KIP-814).

The answer waits until all members have joined, or until their time is up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.codecs.kafka.generated.join_group import JoinGroupResponse, JoinGroupResponseMember
from headrace.coordination.groups.commands import JoinGroup, Protocol
from headrace.frontends.kafka.authorization import maybe_group_refusal
from headrace.frontends.kafka.errors import error_code
from headrace.frontends.kafka.group_answers import ask
from headrace.model.errors import HeadraceError, MemberIdRequired
from headrace.security.acl import Operation

if TYPE_CHECKING:
    from headrace.codecs.kafka.generated.join_group import JoinGroupRequest
    from headrace.coordination.groups.commands import Joined
    from headrace.frontends.kafka.context import Pending, RequestContext

API_KEY = 11
VERSIONS = (0, 9)

REBALANCE_TIMEOUT_FROM = 1
MEMBER_ID_REQUIRED_FROM = 4
NULL_PROTOCOL_FROM = 7
SKIP_ASSIGNMENT_FROM = 9
NO_GENERATION = -1


def handle(request: JoinGroupRequest, context: RequestContext) -> JoinGroupResponse | Pending:
    version = context.version
    no_protocol = None if version >= NULL_PROTOCOL_FROM else ""

    def render(reply: Any) -> JoinGroupResponse:
        if isinstance(reply, HeadraceError):
            member_id = request.member_id
            if isinstance(reply, MemberIdRequired):
                member_id = reply.member_id
            return JoinGroupResponse(
                error_code=error_code(reply),
                generation_id=NO_GENERATION,
                protocol_name=no_protocol,
                member_id=member_id,
            )
        return _joined(reply, no_protocol)

    refusal = maybe_group_refusal(context, Operation.READ, request.group_id)
    if refusal is not None:
        return render(refusal)
    return ask(context.broker.groups, request.group_id, _command(request, context), render)


def _command(request: JoinGroupRequest, context: RequestContext) -> JoinGroup:
    version = context.version
    has_own_timeout = version >= REBALANCE_TIMEOUT_FROM
    return JoinGroup(
        group_id=request.group_id,
        member_id=request.member_id,
        instance_id=request.group_instance_id,
        client_id=context.client_id or "",
        client_host=f"/{context.host}",
        session_timeout_ms=request.session_timeout_ms,
        rebalance_timeout_ms=(
            request.rebalance_timeout_ms if has_own_timeout else request.session_timeout_ms
        ),
        protocol_type=request.protocol_type,
        protocols=tuple(Protocol(each.name, bytes(each.metadata)) for each in request.protocols),
        member_id_required=version >= MEMBER_ID_REQUIRED_FROM,
        can_skip_assignment=version >= SKIP_ASSIGNMENT_FROM,
    )


def _joined(joined: Joined, no_protocol: str | None) -> JoinGroupResponse:
    return JoinGroupResponse(
        generation_id=joined.generation,
        protocol_type=joined.protocol_type,
        protocol_name=no_protocol if joined.protocol_name is None else joined.protocol_name,
        leader=joined.leader_id,
        skip_assignment=joined.skip_assignment,
        member_id=joined.member_id,
        members=[JoinGroupResponseMember(*member) for member in joined.members],
    )
