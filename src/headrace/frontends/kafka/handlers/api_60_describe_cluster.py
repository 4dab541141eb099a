"""DescribeCluster (key 60), versions 0-2.

v1 endpoint types: brokers (1) or controllers (2, KIP-919) · v2 fenced brokers (none here).
This is a broker's listener, so only brokers can be asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.codecs.kafka.generated.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterResponse,
)
from headrace.frontends.kafka.authorized_operations import cluster_operations

if TYPE_CHECKING:
    from headrace.codecs.kafka.generated.describe_cluster import DescribeClusterRequest
    from headrace.frontends.kafka.context import RequestContext

API_KEY = 60
VERSIONS = (0, 2)

BROKERS, CONTROLLERS = 1, 2
MISMATCHED_ENDPOINT_TYPE = 114
UNSUPPORTED_ENDPOINT_TYPE = 115


def handle(request: DescribeClusterRequest, context: RequestContext) -> DescribeClusterResponse:
    if request.endpoint_type != BROKERS:
        return _refused(request.endpoint_type)
    cluster = context.broker.cluster
    return DescribeClusterResponse(
        cluster_id=cluster.cluster_id,
        controller_id=cluster.node_id,
        brokers=[
            DescribeClusterBroker(
                broker_id=cluster.node_id,
                host=context.listener.host,
                port=context.listener.port,
                rack=context.broker.config.broker_rack,
            )
        ],
        cluster_authorized_operations=cluster_operations(
            context, is_asked=request.include_cluster_authorized_operations
        ),
    )


def _refused(endpoint_type: int) -> DescribeClusterResponse:
    if endpoint_type == CONTROLLERS:
        return DescribeClusterResponse(
            error_code=MISMATCHED_ENDPOINT_TYPE,
            error_message="this is a listener of a broker, not of a controller",
            endpoint_type=endpoint_type,
        )
    return DescribeClusterResponse(
        error_code=UNSUPPORTED_ENDPOINT_TYPE,
        error_message=f"unknown endpoint type {endpoint_type}",
        endpoint_type=endpoint_type,
    )
