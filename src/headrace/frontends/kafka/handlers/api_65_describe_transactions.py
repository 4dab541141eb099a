"""DescribeTransactions (key 65), version 0 (KIP-664).

Topics that the one who asks may not describe are left out of a transaction's list.
"""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from headrace.codecs.kafka.generated.describe_transactions import (
    DescribeTransactionsResponse,
    TopicData,
    TransactionState,
)
from headrace.coordination.transactions.commands import DescribeTransaction
from headrace.frontends.kafka.authorization import maybe_refusal
from headrace.frontends.kafka.context import Pending
from headrace.frontends.kafka.errors import error_code
from headrace.model.errors import HeadraceError
from headrace.security.acl import Operation, ResourceType

if TYPE_CHECKING:
    from headrace.codecs.kafka.generated.describe_transactions import DescribeTransactionsRequest
    from headrace.coordination.transactions.commands import DescribedTransaction
    from headrace.frontends.kafka.context import RequestContext

API_KEY = 65
VERSIONS = (0, 0)


def handle(request: DescribeTransactionsRequest, context: RequestContext) -> Pending:
    pending = Pending()
    ids = list(dict.fromkeys(request.transactional_ids))
    states: dict[str, TransactionState] = {}

    def keep(transactional_id: str, reply: Any) -> None:
        states[transactional_id] = _state(transactional_id, reply, context)
        if len(states) == len(ids):
            answer = [states[each] for each in ids]
            pending.complete(DescribeTransactionsResponse(transaction_states=answer))

    if not ids:
        pending.complete(DescribeTransactionsResponse())
    for each in ids:
        _describe(each, context, keep)
    return pending


def _describe(transactional_id: str, context: RequestContext, keep: Any) -> None:
    refusal = maybe_refusal(
        context, Operation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, transactional_id
    )
    if refusal is not None:
        keep(transactional_id, refusal)
        return
    context.broker.transactions.submit(
        transactional_id,
        DescribeTransaction(transactional_id),
        lambda reply: keep(transactional_id, reply),
    )


def _state(transactional_id: str, reply: Any, context: RequestContext) -> TransactionState:
    if isinstance(reply, HeadraceError):
        return TransactionState(error_code(reply), transactional_id)
    described: DescribedTransaction = reply
    return TransactionState(
        transactional_id=transactional_id,
        transaction_state=described.state,
        transaction_timeout_ms=described.timeout_ms,
        transaction_start_time_ms=described.start_ms,
        producer_id=described.producer.producer_id,
        producer_epoch=described.producer.epoch,
        topics=[
            TopicData(topic, [each.partition for each in partitions])
            for topic, partitions in groupby(described.partitions, key=attrgetter("topic"))
            if context.allows(Operation.DESCRIBE, ResourceType.TOPIC, topic)
        ],
    )
