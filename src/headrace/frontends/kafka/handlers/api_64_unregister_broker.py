"""UnregisterBroker (key 64), version 0 (KIP-500).

Kafka forgets any broker that it knows, even one that runs: its partitions then have no leader until
it is started anew. The only broker of this cluster is the one that answers, so it is kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.placement import unregistration_refusal
from headrace.codecs.kafka.generated.unregister_broker import UnregisterBrokerResponse
from headrace.frontends.kafka.authorization import maybe_cluster_refusal
from headrace.frontends.kafka.errors import error_code, error_message
from headrace.security.acl import Operation

if TYPE_CHECKING:
    from headrace.codecs.kafka.generated.unregister_broker import UnregisterBrokerRequest
    from headrace.frontends.kafka.context import RequestContext

API_KEY = 64
VERSIONS = (0, 0)


def handle(request: UnregisterBrokerRequest, context: RequestContext) -> UnregisterBrokerResponse:
    node_id = context.broker.cluster.node_id
    error = maybe_cluster_refusal(context, Operation.ALTER) or unregistration_refusal(
        request.broker_id, node_id
    )
    return UnregisterBrokerResponse(
        error_code=error_code(error), error_message=error_message(error)
    )
