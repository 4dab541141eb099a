"""Which operations a client may do, as the bit sets that some answers carry on request (KIP-430).

Bit n stands for operation n of Kafka's access control. Without access control these are all
operations that make sense for the kind of resource.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.security.acl import CLUSTER_NAME, Operation, ResourceType
from headrace.security.authorizer import OPERATIONS_OF

if TYPE_CHECKING:
    from headrace.frontends.kafka.context import RequestContext

NOT_ASKED = -(2**31)
NOTHING_TOLD = 0

ALL_OPERATIONS = {
    resource_type: sum(1 << operation for operation in operations)
    for resource_type, operations in OPERATIONS_OF.items()
}


def topic_operations(context: RequestContext, name: str, *, is_asked: bool) -> int:
    return _operations(context, ResourceType.TOPIC, name) if is_asked else NOT_ASKED


def group_operations(context: RequestContext, group_id: str, *, is_asked: bool) -> int:
    return _operations(context, ResourceType.GROUP, group_id) if is_asked else NOT_ASKED


def cluster_operations(context: RequestContext, *, is_asked: bool) -> int:
    """Nothing for those who may not even describe the cluster."""
    if not is_asked:
        return NOT_ASKED
    if not context.allows(Operation.DESCRIBE, ResourceType.CLUSTER, CLUSTER_NAME):
        return NOTHING_TOLD
    return _operations(context, ResourceType.CLUSTER, CLUSTER_NAME)


def _operations(context: RequestContext, resource_type: ResourceType, name: str) -> int:
    access = context.broker.access
    if access is None:
        return ALL_OPERATIONS[resource_type]
    return access.authorized_operations(context.principal, context.host, resource_type, name)
