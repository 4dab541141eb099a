"""LeaveGroup (key 13), versions 0-5.

v1 throttle time · v3 several members, by member or instance id · v4 flexible · v5 reason.

Before v3 there is one member, and its error is the answer's; from v3 each member has its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.codecs.kafka.generated.leave_group import LeaveGroupResponse, MemberResponse
from headrace.coordination.groups.commands import LeaveGroup, LeavingMember
from headrace.frontends.kafka.authorization import maybe_group_refusal
from headrace.frontends.kafka.errors import NONE, error_code
from headrace.frontends.kafka.group_answers import ask
from headrace.model.errors import HeadraceError, UnknownMember
from headrace.security.acl import Operation

if TYPE_CHECKING:
    from headrace.codecs.kafka.generated.leave_group import LeaveGroupRequest
    from headrace.frontends.kafka.context import Pending, RequestContext

API_KEY = 13
VERSIONS = (0, 5)

SEVERAL_MEMBERS_FROM = 3


def handle(request: LeaveGroupRequest, context: RequestContext) -> LeaveGroupResponse | Pending:
    refusal = maybe_group_refusal(context, Operation.READ, request.group_id)
    if refusal is not None:
        return LeaveGroupResponse(error_code=error_code(refusal))
    if context.version >= SEVERAL_MEMBERS_FROM:
        leaving = tuple(LeavingMember(m.member_id, m.group_instance_id) for m in request.members)
        is_batch = True
    else:
        leaving = (LeavingMember(request.member_id, None),)
        is_batch = False

    def render(reply: Any) -> LeaveGroupResponse:
        if isinstance(reply, UnknownMember):
            reply = [reply] * len(leaving)  # no such group, so it has none of these members
        if isinstance(reply, HeadraceError):
            return LeaveGroupResponse(error_code=error_code(reply))
        codes = [NONE if outcome is None else error_code(outcome) for outcome in reply]
        if not is_batch:
            return LeaveGroupResponse(error_code=codes[0])
        pairs = zip(leaving, codes, strict=True)
        return LeaveGroupResponse(members=[MemberResponse(*who, code) for who, code in pairs])

    return ask(
        context.broker.groups, request.group_id, LeaveGroup(request.group_id, leaving), render
    )
