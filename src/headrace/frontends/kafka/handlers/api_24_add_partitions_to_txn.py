"""AddPartitionsToTxn (key 24), versions 0-5.

v2 PRODUCER_FENCED · v3 flexible · v4 several transactions at once, verification alone; brokers send
it to each other (KIP-890), so it needs the right of a broker · v5 TRANSACTION_ABORTABLE.

All partitions of a transaction are added, or none: where one is refused, the others are answered
with OPERATION_NOT_ATTEMPTED.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.codecs.kafka.error_codes import ErrorCode
from headrace.codecs.kafka.generated.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)
from headrace.coordination.transactions.commands import (
    AddPartitions,
    ProducerIdentity,
    VerifyPartitions,
)
from headrace.frontends.kafka.authorization import (
    maybe_cluster_refusal,
    maybe_refusal,
    maybe_topic_refusal,
)
from headrace.frontends.kafka.context import Pending
from headrace.frontends.kafka.errors import NONE, error_code
from headrace.frontends.kafka.transaction_answers import transaction_error_code
from headrace.model.errors import (
    HeadraceError,
    TopicAuthorizationFailed,
    UnknownTopicOrPartition,
)
from headrace.model.topic import INTERNAL_TOPICS, TopicPartition
from headrace.security.acl import Operation, ResourceType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from headrace.codecs.kafka.generated.add_partitions_to_txn import (
        AddPartitionsToTxnRequest,
        AddPartitionsToTxnTopic,
    )
    from headrace.frontends.kafka.context import RequestContext

API_KEY = 24
VERSIONS = (0, 5)

FENCED_FROM = 2
BATCHED_FROM = 4
ABORTABLE_FROM = 5

Codes = dict[TopicPartition, int]


class _Wish(NamedTuple):
    """What is asked for one transactional id."""

    transactional_id: str
    producer: ProducerIdentity
    verify_only: bool
    topics: Sequence[AddPartitionsToTxnTopic]

    def partitions(self) -> list[TopicPartition]:
        return [
            TopicPartition(topic.name, index) for topic in self.topics for index in topic.partitions
        ]


def handle(
    request: AddPartitionsToTxnRequest, context: RequestContext
) -> AddPartitionsToTxnResponse | Pending:
    if context.version >= BATCHED_FROM:
        refusal = maybe_cluster_refusal(context, Operation.CLUSTER_ACTION)
        if refusal is not None:
            return AddPartitionsToTxnResponse(error_code=error_code(refusal))
    wishes = _wishes(request, context.version)
    pending = Pending()
    codes: dict[int, Codes] = {}

    def keep(number: int, answer: Codes) -> None:
        codes[number] = answer
        if len(codes) == len(wishes):
            pending.complete(_response(wishes, codes, context.version))

    if not wishes:
        pending.complete(AddPartitionsToTxnResponse())
    for number, wish in enumerate(wishes):
        _fulfil(wish, context, partial(keep, number))
    return pending


def _wishes(request: AddPartitionsToTxnRequest, version: int) -> list[_Wish]:
    if version >= BATCHED_FROM:
        return [
            _Wish(
                each.transactional_id,
                ProducerIdentity(each.producer_id, each.producer_epoch),
                each.verify_only,
                each.topics,
            )
            for each in request.transactions
        ]
    producer = ProducerIdentity(
        request.v3_and_below_producer_id, request.v3_and_below_producer_epoch
    )
    topics = request.v3_and_below_topics
    return [_Wish(request.v3_and_below_transactional_id, producer, False, topics)]


def _fulfil(wish: _Wish, context: RequestContext, keep: Callable[[Codes], None]) -> None:
    partitions = wish.partitions()
    refused = _refusals(wish, partitions, context)
    if refused:
        rest = int(ErrorCode.OPERATION_NOT_ATTEMPTED)
        keep({each: refused.get(each, rest) for each in partitions})
        return
    command: AddPartitions | VerifyPartitions
    if wish.verify_only:
        command = VerifyPartitions(wish.transactional_id, wish.producer, frozenset(partitions))
    else:
        command = AddPartitions(
            wish.transactional_id,
            wish.producer,
            frozenset(partitions),
            client_version=2 if context.version >= BATCHED_FROM else 0,
        )
    context.broker.transactions.submit(
        wish.transactional_id,
        command,
        lambda reply: keep(_codes(reply, partitions, context.version)),
    )


def _refusals(wish: _Wish, partitions: list[TopicPartition], context: RequestContext) -> Codes:
    """What is wrong before the coordinator is asked. Brokers have had their clients checked."""
    if context.version < BATCHED_FROM:
        denial = maybe_refusal(
            context, Operation.WRITE, ResourceType.TRANSACTIONAL_ID, wish.transactional_id
        )
        if denial is not None:
            return dict.fromkeys(partitions, error_code(denial))
    refused: Codes = {}
    for topic in wish.topics:
        topic_denial = _maybe_topic_denial(topic.name, context)
        for index in topic.partitions:
            error = topic_denial
            if error is None and context.broker.topics.partition(topic.name, index) is None:
                error = UnknownTopicOrPartition()
            if error is not None:
                refused[TopicPartition(topic.name, index)] = error_code(error)
    return refused


def _maybe_topic_denial(name: str, context: RequestContext) -> HeadraceError | None:
    if context.version >= BATCHED_FROM:
        return None
    if name in INTERNAL_TOPICS:
        return TopicAuthorizationFailed("internal topics are not for clients to write")
    return maybe_topic_refusal(context, Operation.WRITE, name)


def _codes(reply: Any, partitions: Sequence[TopicPartition], version: int) -> Codes:
    def code(error: HeadraceError | None) -> int:
        if error is None:
            return NONE
        return transaction_error_code(
            error,
            knows_fenced=version >= FENCED_FROM,
            knows_abortable=version >= ABORTABLE_FROM,
        )

    if isinstance(reply, dict):
        return {address: code(error) for address, error in reply.items()}
    return dict.fromkeys(partitions, code(reply))


def _response(
    wishes: Sequence[_Wish], codes: Mapping[int, Codes], version: int
) -> AddPartitionsToTxnResponse:
    results = [
        AddPartitionsToTxnResult(
            wish.transactional_id,
            [
                AddPartitionsToTxnTopicResult(
                    topic.name,
                    [
                        AddPartitionsToTxnPartitionResult(
                            index, codes[number][TopicPartition(topic.name, index)]
                        )
                        for index in topic.partitions
                    ],
                )
                for topic in wish.topics
            ],
        )
        for number, wish in enumerate(wishes)
    ]
    if version >= BATCHED_FROM:
        return AddPartitionsToTxnResponse(results_by_transaction=results)
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results[0].topic_results)
