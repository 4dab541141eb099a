"""ElectLeaders (key 43), versions 0-2 (KIP-183, KIP-460).

v1 kind of election: of the preferred leader (0) or of any replica (1); top-level error · v2
flexible. Every partition is led by its only replica, so no election is ever needed. Errors are per
partition. Null partitions means all: then those that need no election are not told, as in Kafka.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.placement import election_refusal
from headrace.codecs.kafka.generated.elect_leaders import (
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from headrace.frontends.kafka.authorization import maybe_cluster_refusal
from headrace.frontends.kafka.errors import NONE, error_code, error_message
from headrace.model.errors import HeadraceError, InvalidRequest
from headrace.security.acl import Operation

if TYPE_CHECKING:
    from headrace.codecs.kafka.generated.elect_leaders import ElectLeadersRequest
    from headrace.frontends.kafka.context import RequestContext

API_KEY = 43
VERSIONS = (0, 2)

PREFERRED, UNCLEAN = 0, 1


def handle(request: ElectLeadersRequest, context: RequestContext) -> ElectLeadersResponse:
    refusal = _maybe_refusal(request, context)
    topics = context.broker.topics
    return ElectLeadersResponse(
        error_code=NONE if refusal is None else error_code(refusal),
        replica_election_results=[
            ReplicaElectionResult(
                wanted.topic,
                [
                    _told(index, refusal or election_refusal(topics, wanted.topic, index))
                    for index in wanted.partitions
                ],
            )
            for wanted in request.topic_partitions or ()
        ],
    )


def _maybe_refusal(request: ElectLeadersRequest, context: RequestContext) -> HeadraceError | None:
    """Of the request as a whole."""
    refusal: HeadraceError | None = maybe_cluster_refusal(context, Operation.ALTER)
    if refusal is None and request.election_type not in (PREFERRED, UNCLEAN):
        refusal = InvalidRequest(f"unknown election type {request.election_type}")
    return refusal


def _told(index: int, error: HeadraceError) -> PartitionResult:
    return PartitionResult(index, error_code(error), error_message(error))
