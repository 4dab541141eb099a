"""DescribeQuorum (key 55), versions 0-2 (KIP-595, KIP-836, KIP-853).

v1 when a replica last fetched and was last caught up · v2 error messages, directory ids, and where
the voters listen. The quorum is this node: leader and only voter of the metadata log, always caught
up with itself. What is durable is committed, so that is the high watermark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.codecs.kafka.generated.describe_quorum import (
    DescribeQuorumResponse,
    Listener,
    Node,
    ReplicaState,
    ResponsePartitionData,
    ResponseTopicData,
)
from headrace.frontends.kafka.authorization import maybe_cluster_refusal
from headrace.frontends.kafka.errors import NONE, error_code, error_message
from headrace.model.errors import UnknownTopicOrPartition
from headrace.model.topic import CLUSTER_METADATA_TOPIC
from headrace.security.acl import Operation

if TYPE_CHECKING:
    from headrace.codecs.kafka.generated.describe_quorum import DescribeQuorumRequest
    from headrace.frontends.kafka.context import RequestContext

API_KEY = 55
VERSIONS = (0, 2)

THE_PARTITION = (CLUSTER_METADATA_TOPIC, 0)
LISTENER_NAME = "CONTROLLER"
"""As Kafka's own configuration names the door to the quorum; it must be in capitals."""


def handle(request: DescribeQuorumRequest, context: RequestContext) -> DescribeQuorumResponse:
    refusal = maybe_cluster_refusal(context, Operation.DESCRIBE)
    if refusal is not None:
        return DescribeQuorumResponse(error_code(refusal), error_message(refusal))
    asked = [
        (topic.topic_name, each.partition_index)
        for topic in request.topics
        for each in topic.partitions
    ]
    if asked != [THE_PARTITION]:
        return _unknown(request)
    node_id, listener = context.broker.cluster.node_id, context.listener
    return DescribeQuorumResponse(
        NONE,
        None,
        [ResponseTopicData(CLUSTER_METADATA_TOPIC, [_described(context)])],
        [Node(node_id, [Listener(LISTENER_NAME, listener.host, listener.port)])],
    )


def _described(context: RequestContext) -> ResponsePartitionData:
    store = context.broker.store
    now_ms = context.broker.clock.now_ms()
    this_node = ReplicaState(
        replica_id=store.node.id,
        replica_directory_id=store.node.directory_id,
        log_end_offset=store.end_offset,
        last_fetch_timestamp=now_ms,
        last_caught_up_timestamp=now_ms,
    )
    return ResponsePartitionData(
        partition_index=THE_PARTITION[1],
        error_message=None,
        leader_id=store.node.id,
        leader_epoch=store.leader_epoch,
        high_watermark=store.durable_offset,
        current_voters=[this_node],
    )


def _unknown(request: DescribeQuorumRequest) -> DescribeQuorumResponse:
    """The metadata log is the only thing that has a quorum, and must be asked for alone."""
    error = UnknownTopicOrPartition("only the quorum of the metadata log can be described")
    return DescribeQuorumResponse(
        NONE,
        None,
        [
            ResponseTopicData(
                topic.topic_name,
                [
                    ResponsePartitionData(
                        each.partition_index, error_code(error), error_message(error)
                    )
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ],
    )
