"""TxnOffsetCommit (key 28), versions 0-5.

v1 no change · v2 leader epoch, COORDINATOR_LOAD_IN_PROGRESS · v3 flexible, member and generation
of the consumer (KIP-447) · v4 TRANSACTION_ABORTABLE · v5 the group's partition need not have been
added to the transaction: it is now (KIP-890).

The offsets are stored at once and count when the transaction commits. The transaction is asked
and the offsets are written without a pause in between, so that none can be written behind its end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.codecs.kafka.generated.txn_offset_commit import (
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from headrace.coordination.groups.commands import CommitTransactionalOffsets, OffsetToCommit
from headrace.coordination.transactions.commands import ProducerIdentity
from headrace.frontends.kafka.authorization import (
    maybe_group_refusal,
    maybe_refusal,
    maybe_topic_refusal,
)
from headrace.frontends.kafka.errors import NONE, error_code
from headrace.frontends.kafka.group_answers import ask
from headrace.frontends.kafka.transaction_answers import transaction_error_code
from headrace.model.errors import (
    CoordinatorLoading,
    CoordinatorNotAvailable,
    HeadraceError,
    UnknownTopicOrPartition,
)
from headrace.model.topic import TopicPartition
from headrace.security.acl import Operation, ResourceType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.codecs.kafka.generated.txn_offset_commit import (
        TxnOffsetCommitRequest,
        TxnOffsetCommitRequestPartition,
        TxnOffsetCommitRequestTopic,
    )
    from headrace.frontends.kafka.context import Pending, RequestContext

API_KEY = 28
VERSIONS = (0, 5)

LOADING_FROM = 2
ABORTABLE_FROM = 4
IMPLICIT_FROM = 5
TRANSACTION_VERSION_IMPLICIT = 2
TRANSACTION_VERSION_EXPLICIT = 1


def handle(
    request: TxnOffsetCommitRequest, context: RequestContext
) -> TxnOffsetCommitResponse | Pending:
    refusal = maybe_refusal(
        context, Operation.WRITE, ResourceType.TRANSACTIONAL_ID, request.transactional_id
    ) or maybe_group_refusal(context, Operation.READ, request.group_id)
    offsets: list[OffsetToCommit] = []
    accepted: list[TxnOffsetCommitResponsePartition] = []
    topics = []
    for wanted in request.topics:
        topic_refusal = refusal or maybe_topic_refusal(context, Operation.READ, wanted.name)
        answers = []
        for partition in wanted.partitions:
            answer = TxnOffsetCommitResponsePartition(partition.partition_index)
            answers.append(answer)
            error = topic_refusal or _maybe_unknown(wanted, partition, context)
            if error is not None:
                answer.error_code = error_code(error)
                continue
            offsets.append(_offset(wanted, partition))
            accepted.append(answer)
        topics.append(TxnOffsetCommitResponseTopic(wanted.name, answers))
    response = TxnOffsetCommitResponse(0, topics)
    if not offsets:
        return response
    return _commit(request, context, offsets, accepted, response)


def _commit(
    request: TxnOffsetCommitRequest,
    context: RequestContext,
    offsets: list[OffsetToCommit],
    accepted: Sequence[TxnOffsetCommitResponsePartition],
    response: TxnOffsetCommitResponse,
) -> TxnOffsetCommitResponse | Pending:
    def render(reply: Any) -> TxnOffsetCommitResponse:
        outcomes = [reply] * len(accepted) if isinstance(reply, HeadraceError) else reply
        for answer, outcome in zip(accepted, outcomes, strict=True):
            answer.error_code = NONE if outcome is None else _code(outcome, context.version)
        return response

    try:
        _enlist(request, context)
    except HeadraceError as error:
        return render(error)
    command = CommitTransactionalOffsets(
        request.group_id,
        request.member_id,
        request.group_instance_id,
        request.generation_id,
        offsets,
        request.producer_id,
        request.producer_epoch,
    )
    return ask(context.broker.groups, request.group_id, command, render)


def _enlist(request: TxnOffsetCommitRequest, context: RequestContext) -> None:
    """Raise unless the group's partition is part of the producer's transaction."""
    partition = context.broker.groups.partition_of_group(request.group_id)
    is_implicit = context.version >= IMPLICIT_FROM
    refused = context.broker.transactions.enlist(
        request.transactional_id,
        ProducerIdentity(request.producer_id, request.producer_epoch),
        frozenset({partition}),
        TRANSACTION_VERSION_IMPLICIT if is_implicit else TRANSACTION_VERSION_EXPLICIT,
    )
    if partition in refused:
        raise refused[partition]


def _maybe_unknown(
    wanted: TxnOffsetCommitRequestTopic,
    partition: TxnOffsetCommitRequestPartition,
    context: RequestContext,
) -> HeadraceError | None:
    if context.broker.topics.partition(wanted.name, partition.partition_index) is not None:
        return None
    return UnknownTopicOrPartition("there is no such partition")


def _offset(
    wanted: TxnOffsetCommitRequestTopic, partition: TxnOffsetCommitRequestPartition
) -> OffsetToCommit:
    return OffsetToCommit(
        TopicPartition(wanted.name, partition.partition_index),
        partition.committed_offset,
        partition.committed_leader_epoch,
        partition.committed_metadata or "",
    )


def _code(error: HeadraceError, version: int) -> int:
    """A producer that is fenced learns in all versions that its epoch is too old: what the log
    itself would say."""
    if isinstance(error, CoordinatorLoading) and version < LOADING_FROM:
        error = CoordinatorNotAvailable(error.message)
    return transaction_error_code(
        error, knows_fenced=False, knows_abortable=version >= ABORTABLE_FROM
    )
