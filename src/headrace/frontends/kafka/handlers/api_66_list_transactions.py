"""ListTransactions (key 66), versions 0-2.

v1 those that run longer than some time (KIP-994) · v2 ids that match a pattern (KIP-1152).
Transactional ids that the one who asks may not describe are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.codecs.kafka.generated.list_transactions import (
    ListTransactionsResponse,
    TransactionState,
)
from headrace.coordination.transactions.commands import ListTransactions
from headrace.frontends.kafka.context import Pending
from headrace.frontends.kafka.errors import error_code
from headrace.model.errors import HeadraceError
from headrace.security.acl import Operation, ResourceType

if TYPE_CHECKING:
    from headrace.codecs.kafka.generated.list_transactions import ListTransactionsRequest
    from headrace.frontends.kafka.context import RequestContext

API_KEY = 66
VERSIONS = (0, 2)


def handle(request: ListTransactionsRequest, context: RequestContext) -> Pending:
    pending = Pending()
    command = ListTransactions(
        states=frozenset(request.state_filters),
        producer_ids=frozenset(request.producer_id_filters),
        running_longer_than_ms=request.duration_filter if request.duration_filter >= 0 else None,
        pattern=request.transactional_id_pattern,
    )
    context.broker.transactions.list_transactions(
        command, lambda reply: pending.complete(_render(reply, context))
    )
    return pending


def _render(reply: Any, context: RequestContext) -> ListTransactionsResponse:
    if isinstance(reply, HeadraceError):
        return ListTransactionsResponse(error_code=error_code(reply))
    return ListTransactionsResponse(
        unknown_state_filters=list(reply.unknown_states),
        transaction_states=[
            TransactionState(each.transactional_id, each.producer_id, each.state)
            for each in reply.transactions
            if context.allows(
                Operation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, each.transactional_id
            )
        ],
    )
