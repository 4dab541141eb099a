"""DeleteGroups (key 42), versions 0-2: v1 as v0 · v2 flexible.

Only groups without members can be deleted; their offsets go with them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.codecs.kafka.generated.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsResponse,
)
from headrace.coordination.groups.commands import DeleteGroup
from headrace.frontends.kafka.authorization import maybe_group_refusal
from headrace.frontends.kafka.errors import NONE, error_code
from headrace.frontends.kafka.group_answers import ask_each
from headrace.security.acl import Operation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.codecs.kafka.generated.delete_groups import DeleteGroupsRequest
    from headrace.frontends.kafka.context import Pending, RequestContext

API_KEY = 42
VERSIONS = (0, 2)


def handle(request: DeleteGroupsRequest, context: RequestContext) -> Pending:
    names = list(dict.fromkeys(request.groups_names))

    def render(replies: Sequence[Any]) -> DeleteGroupsResponse:
        return DeleteGroupsResponse(
            results=[
                DeletableGroupResult(name, NONE if reply is None else error_code(reply))
                for name, reply in zip(names, replies, strict=True)
            ]
        )

    commands = [
        (name, maybe_group_refusal(context, Operation.DELETE, name) or DeleteGroup(name))
        for name in names
    ]
    return ask_each(context.broker.groups, commands, render)
