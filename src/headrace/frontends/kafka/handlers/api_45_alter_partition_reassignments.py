"""AlterPartitionReassignments (key 45), versions 0-1 (KIP-455, KIP-860).

v1 whether the number of replicas may change (it cannot here). The replicas of a partition are this
node: to ask for them changes nothing, and other ones are refused. Null replicas cancel a
reassignment, but there never is one. Errors are per partition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.placement import cancellation_refusal, raise_if_not_reassignable
from headrace.codecs.kafka.generated.alter_partition_reassignments import (
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from headrace.frontends.kafka.authorization import maybe_cluster_refusal
from headrace.frontends.kafka.errors import NONE, error_code, error_message
from headrace.model.errors import HeadraceError
from headrace.security.acl import Operation

if TYPE_CHECKING:
    from headrace.codecs.kafka.generated.alter_partition_reassignments import (
        AlterPartitionReassignmentsRequest,
        ReassignablePartition,
    )
    from headrace.frontends.kafka.context import RequestContext

API_KEY = 45
VERSIONS = (0, 1)


def handle(
    request: AlterPartitionReassignmentsRequest, context: RequestContext
) -> AlterPartitionReassignmentsResponse:
    refusal = maybe_cluster_refusal(context, Operation.ALTER)
    return AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=request.allow_replication_factor_change,
        error_code=NONE if refusal is None else error_code(refusal),
        error_message=None if refusal is None else error_message(refusal),
        responses=[
            ReassignableTopicResponse(
                topic.name,
                [
                    _told(partition, refusal or _maybe_error(context, topic.name, partition))
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ],
    )


def _maybe_error(
    context: RequestContext, name: str, wanted: ReassignablePartition
) -> HeadraceError | None:
    broker, index, replicas = context.broker, wanted.partition_index, wanted.replicas
    if replicas is None:
        return cancellation_refusal(broker.topics, name, index)
    try:
        raise_if_not_reassignable(broker.topics, name, index, replicas, broker.cluster.node_id)
    except HeadraceError as error:
        return error
    return None


def _told(
    wanted: ReassignablePartition, error: HeadraceError | None
) -> ReassignablePartitionResponse:
    return ReassignablePartitionResponse(
        wanted.partition_index,
        NONE if error is None else error_code(error),
        None if error is None else error_message(error),
    )
