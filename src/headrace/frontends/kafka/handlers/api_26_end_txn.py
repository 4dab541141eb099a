"""EndTxn (key 26), versions 0-5.

v2 PRODUCER_FENCED · v3 flexible · v4 TRANSACTION_ABORTABLE · v5 transaction version 2 (KIP-890):
the end bumps the epoch, and the answer tells the identity to use from now on.

When the answer leaves, the markers are in all partitions: there is nothing left to wait for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.codecs.kafka.generated.end_txn import EndTxnResponse
from headrace.coordination.transactions.commands import EndTransaction, ProducerIdentity
from headrace.frontends.kafka.authorization import raise_if_transactional_id_refused
from headrace.frontends.kafka.transaction_answers import ask, transaction_error_code
from headrace.model.errors import HeadraceError
from headrace.security.acl import Operation

if TYPE_CHECKING:
    from headrace.codecs.kafka.generated.end_txn import EndTxnRequest
    from headrace.frontends.kafka.context import Pending, RequestContext

API_KEY = 26
VERSIONS = (0, 5)

FENCED_FROM = 2
ABORTABLE_FROM = 4
EPOCH_BUMP_FROM = 5


def handle(request: EndTxnRequest, context: RequestContext) -> EndTxnResponse | Pending:
    transactional_id = request.transactional_id
    try:
        raise_if_transactional_id_refused(context, Operation.WRITE, transactional_id)
    except HeadraceError as error:
        return _render(error, context)
    command = EndTransaction(
        transactional_id,
        ProducerIdentity(request.producer_id, request.producer_epoch),
        request.committed,
        client_version=2 if context.version >= EPOCH_BUMP_FROM else 0,
    )
    return ask(
        context.broker.transactions,
        transactional_id,
        command,
        lambda reply: _render(reply, context),
    )


def _render(reply: Any, context: RequestContext) -> EndTxnResponse:
    if not isinstance(reply, HeadraceError):
        return EndTxnResponse(producer_id=reply.producer_id, producer_epoch=reply.epoch)
    code = transaction_error_code(
        reply,
        knows_fenced=context.version >= FENCED_FROM,
        knows_abortable=context.version >= ABORTABLE_FROM,
    )
    return EndTxnResponse(error_code=code)
