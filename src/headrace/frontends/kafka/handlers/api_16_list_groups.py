"""ListGroups (key 16), versions 0-5: v1 throttle time · v3 flexible · v4 states · v5 types.

Who may describe the cluster sees all groups, anybody else the groups that they may describe.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.codecs.kafka.generated.list_groups import ListedGroup, ListGroupsResponse
from headrace.coordination.groups.commands import ListGroups
from headrace.frontends.kafka.context import Pending
from headrace.frontends.kafka.errors import error_code
from headrace.model.errors import HeadraceError
from headrace.security.acl import CLUSTER_NAME, Operation, ResourceType

if TYPE_CHECKING:
    from headrace.codecs.kafka.generated.list_groups import ListGroupsRequest
    from headrace.frontends.kafka.context import RequestContext

API_KEY = 16
VERSIONS = (0, 5)


def handle(request: ListGroupsRequest, context: RequestContext) -> Pending:
    pending = Pending()
    command = ListGroups(frozenset(request.states_filter), frozenset(request.types_filter))
    context.broker.groups.list_groups(
        command, lambda reply: pending.complete(_render(reply, context))
    )
    return pending


def _render(reply: Any, context: RequestContext) -> ListGroupsResponse:
    if isinstance(reply, HeadraceError):
        return ListGroupsResponse(error_code=error_code(reply))
    lists_all = context.allows(Operation.DESCRIBE, ResourceType.CLUSTER, CLUSTER_NAME)
    return ListGroupsResponse(
        groups=[
            ListedGroup(each.group_id, each.protocol_type, each.state, each.kind)
            for each in reply
            if lists_all or context.allows(Operation.DESCRIBE, ResourceType.GROUP, each.group_id)
        ]
    )
