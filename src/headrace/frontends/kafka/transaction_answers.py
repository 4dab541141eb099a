"""What the handlers of transactions share: asking the coordinator, and codes by version.

A client learns an error under the code that its version of the request knows: PRODUCER_FENCED came
late (KIP-588), TRANSACTION_ABORTABLE later (KIP-890). Both have an older code that says as much.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.frontends.kafka.context import Pending
from headrace.frontends.kafka.errors import error_code
from headrace.model.errors import (
    InvalidProducerEpoch,
    InvalidTransactionState,
    ProducerFenced,
    TransactionAbortable,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.broker.transactions import Transactions


def ask(
    transactions: Transactions,
    transactional_id: str,
    command: Any,
    render: Callable[[Any], Any],
) -> Pending:
    """``render`` makes the response of the reply, which may be a HeadraceError."""
    pending = Pending()
    transactions.submit(transactional_id, command, lambda reply: pending.complete(render(reply)))
    return pending


def transaction_error_code(
    error: BaseException, *, knows_fenced: bool, knows_abortable: bool = True
) -> int:
    if isinstance(error, ProducerFenced) and not knows_fenced:
        return error_code(InvalidProducerEpoch())
    if isinstance(error, TransactionAbortable) and not knows_abortable:
        return error_code(InvalidTransactionState())
    return error_code(error)
