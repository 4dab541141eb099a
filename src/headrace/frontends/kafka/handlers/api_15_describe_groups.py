"""DescribeGroups (key 15), versions 0-6.

v1 throttle time · v3 authorized operations · v4 instance ids · v5 flexible · v6 GROUP_ID_NOT_FOUND
and a message, where earlier versions call an unknown group Dead.

Classic groups only: for others clients ask ConsumerGroupDescribe.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.codecs.kafka.generated.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsResponse,
)
from headrace.coordination.groups.classic_states import ClassicState
from headrace.coordination.groups.commands import DescribeGroup
from headrace.frontends.kafka.authorization import maybe_group_refusal
from headrace.frontends.kafka.authorized_operations import group_operations
from headrace.frontends.kafka.errors import NONE, error_code, error_message
from headrace.frontends.kafka.group_answers import ask_each
from headrace.model.errors import GroupNotFound, HeadraceError
from headrace.security.acl import Operation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.codecs.kafka.generated.describe_groups import DescribeGroupsRequest
    from headrace.frontends.kafka.context import Pending, RequestContext

API_KEY = 15
VERSIONS = (0, 6)

NOT_FOUND_FROM = 6


def handle(request: DescribeGroupsRequest, context: RequestContext) -> Pending:
    version = context.version
    is_asked = request.include_authorized_operations

    def render(replies: Sequence[Any]) -> DescribeGroupsResponse:
        return DescribeGroupsResponse(
            groups=[
                _refused(group_id, reply, version)
                if isinstance(reply, HeadraceError)
                else _described(reply, group_operations(context, group_id, is_asked=is_asked))
                for group_id, reply in zip(request.groups, replies, strict=True)
            ]
        )

    commands = [
        (
            group_id,
            maybe_group_refusal(context, Operation.DESCRIBE, group_id) or DescribeGroup(group_id),
        )
        for group_id in request.groups
    ]
    return ask_each(context.broker.groups, commands, render)


def _described(group: Any, operations: int) -> DescribedGroup:
    return DescribedGroup(
        group_id=group.group_id,
        group_state=group.state,
        protocol_type=group.protocol_type,
        protocol_data=group.protocol_name,
        members=[DescribedGroupMember(*member) for member in group.members],
        authorized_operations=operations,
    )


def _refused(group_id: str, error: HeadraceError, version: int) -> DescribedGroup:
    if not isinstance(error, GroupNotFound):
        return DescribedGroup(error_code(error), error_message(error), group_id)
    is_told = version >= NOT_FOUND_FROM
    return DescribedGroup(
        error_code(error) if is_told else NONE,
        error_message(error) if is_told else None,
        group_id,
        ClassicState.DEAD,
    )
