"""WriteTxnMarkers (key 27), versions 1-2: v2 transaction version (KIP-1228).

Brokers of a cluster send it to each other; here the coordinator writes its markers itself, in one
append with its own record. What is left is the operator's use (``kafka-transactions abort``): end a
transaction that hangs in a partition because no coordinator knows of it. A transaction that is
coordinated is not touched, so no client can tear one apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.hanging_transactions import ForeignMarker
from headrace.codecs.kafka.generated.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersResponse,
)
from headrace.frontends.kafka.authorization import maybe_cluster_refusal
from headrace.frontends.kafka.context import Pending
from headrace.frontends.kafka.errors import NONE, error_code
from headrace.model.errors import HeadraceError, StorageFailure
from headrace.model.topic import TopicPartition
from headrace.security.acl import CLUSTER_NAME, Operation, ResourceType

if TYPE_CHECKING:
    from headrace.broker.hanging_transactions import HangingTransactions
    from headrace.codecs.kafka.generated.write_txn_markers import (
        WritableTxnMarker,
        WriteTxnMarkersRequest,
    )
    from headrace.frontends.kafka.context import RequestContext

API_KEY = 27
VERSIONS = (1, 2)


def handle(
    request: WriteTxnMarkersRequest, context: RequestContext
) -> WriteTxnMarkersResponse | Pending:
    refusal = _maybe_refusal(context)
    hanging = context.broker.transactions.hanging
    commit_number = 0
    results = []
    for marker in request.markers:
        result, number = _write(marker, hanging, refusal)
        commit_number = max(commit_number, number)
        results.append(result)
    response = WriteTxnMarkersResponse(results)
    if not commit_number:
        return response
    return _when_durable(commit_number, response, context)


def _maybe_refusal(context: RequestContext) -> HeadraceError | None:
    if context.allows(Operation.ALTER, ResourceType.CLUSTER, CLUSTER_NAME):
        return None
    return maybe_cluster_refusal(context, Operation.CLUSTER_ACTION)


def _write(
    wanted: WritableTxnMarker, hanging: HangingTransactions, refusal: HeadraceError | None
) -> tuple[WritableTxnMarkerResult, int]:
    """The answer, and the commit number to wait for."""
    marker = ForeignMarker(
        wanted.producer_id,
        wanted.producer_epoch,
        wanted.transaction_result,
        wanted.coordinator_epoch,
    )
    commit_number = 0
    topics = []
    for topic in wanted.topics:
        partitions = []
        for index in topic.partition_indexes:
            code = NONE
            try:
                if refusal is not None:
                    raise refusal
                number = hanging.end(TopicPartition(topic.name, index), marker)
                commit_number = max(commit_number, number)
            except HeadraceError as error:
                code = error_code(error)
            partitions.append(WritableTxnMarkerPartitionResult(index, code))
        topics.append(WritableTxnMarkerTopicResult(topic.name, partitions))
    return WritableTxnMarkerResult(wanted.producer_id, topics), commit_number


def _when_durable(
    commit_number: int, response: WriteTxnMarkersResponse, context: RequestContext
) -> Pending:
    pending = Pending()

    def durable(failure: BaseException | None) -> None:
        if failure is not None:
            code = error_code(StorageFailure(str(failure)))
            for marker in response.markers:
                for topic in marker.topics:
                    for partition in topic.partitions:
                        partition.error_code = partition.error_code or code
        pending.complete(response)

    context.broker.transactions.when_durable(commit_number, durable)
    return pending
