"""ListPartitionReassignments (key 46), version 0 (KIP-455).

Nothing can be reassigned on one node, so the list is empty, whatever topics are asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.codecs.kafka.generated.list_partition_reassignments import (
    ListPartitionReassignmentsResponse,
)
from headrace.frontends.kafka.authorization import maybe_cluster_refusal
from headrace.frontends.kafka.errors import error_code, error_message
from headrace.security.acl import Operation

if TYPE_CHECKING:
    from headrace.codecs.kafka.generated.list_partition_reassignments import (
        ListPartitionReassignmentsRequest,
    )
    from headrace.frontends.kafka.context import RequestContext

API_KEY = 46
VERSIONS = (0, 0)


def handle(
    request: ListPartitionReassignmentsRequest, context: RequestContext
) -> ListPartitionReassignmentsResponse:
    refusal = maybe_cluster_refusal(context, Operation.DESCRIBE)
    if refusal is not None:
        return ListPartitionReassignmentsResponse(
            error_code=error_code(refusal), error_message=error_message(refusal)
        )
    return ListPartitionReassignmentsResponse(error_message=None)
