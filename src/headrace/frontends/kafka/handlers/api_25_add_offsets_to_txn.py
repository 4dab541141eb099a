"""AddOffsetsToTxn (key 25), versions 0-4.

v2 PRODUCER_FENCED · v3 flexible · v4 TRANSACTION_ABORTABLE.

The offsets of a group become part of a transaction: the partition in which the group lives does.
Clients of transaction version 2 do not send this, TxnOffsetCommit adds the group by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.codecs.kafka.generated.add_offsets_to_txn import AddOffsetsToTxnResponse
from headrace.coordination.transactions.commands import AddOffsets, ProducerIdentity
from headrace.frontends.kafka.authorization import (
    raise_if_group_refused,
    raise_if_transactional_id_refused,
)
from headrace.frontends.kafka.transaction_answers import ask, transaction_error_code
from headrace.model.errors import HeadraceError
from headrace.security.acl import Operation

if TYPE_CHECKING:
    from headrace.codecs.kafka.generated.add_offsets_to_txn import AddOffsetsToTxnRequest
    from headrace.frontends.kafka.context import Pending, RequestContext

API_KEY = 25
VERSIONS = (0, 4)

FENCED_FROM = 2
ABORTABLE_FROM = 4


def handle(
    request: AddOffsetsToTxnRequest, context: RequestContext
) -> AddOffsetsToTxnResponse | Pending:
    transactional_id = request.transactional_id
    try:
        raise_if_transactional_id_refused(context, Operation.WRITE, transactional_id)
        raise_if_group_refused(context, Operation.READ, request.group_id)
        place = context.broker.groups.partition_of_group(request.group_id)
    except HeadraceError as error:
        return _render(error, context)
    producer = ProducerIdentity(request.producer_id, request.producer_epoch)
    return ask(
        context.broker.transactions,
        transactional_id,
        AddOffsets(transactional_id, producer, place.partition),
        lambda reply: _render(reply, context),
    )


def _render(reply: Any, context: RequestContext) -> AddOffsetsToTxnResponse:
    if not isinstance(reply, HeadraceError):
        return AddOffsetsToTxnResponse()
    code = transaction_error_code(
        reply,
        knows_fenced=context.version >= FENCED_FROM,
        knows_abortable=context.version >= ABORTABLE_FROM,
    )
    return AddOffsetsToTxnResponse(error_code=code)
