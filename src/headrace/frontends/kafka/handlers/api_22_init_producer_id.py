"""InitProducerId (key 22), versions 0-5.

v2 flexible · v3 the producer's present id and epoch, to have them bumped (KIP-360) ·
v4 PRODUCER_FENCED · v5 TRANSACTION_ABORTABLE. v6 (KIP-939) is not a stable version of Kafka's yet.

Without a transactional id every request gets a new id with epoch 0, whatever the producer had. With
one, the coordinator answers: the same id with a higher epoch, which fences all before it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.codecs.kafka.generated.init_producer_id import InitProducerIdResponse
from headrace.coordination.transactions.commands import InitProducerId, ProducerIdentity
from headrace.frontends.kafka.authorization import (
    raise_if_cluster_refused,
    raise_if_transactional_id_refused,
)
from headrace.frontends.kafka.transaction_answers import ask, transaction_error_code
from headrace.model.errors import HeadraceError, InvalidRequest
from headrace.security.acl import Operation, ResourceType

if TYPE_CHECKING:
    from headrace.codecs.kafka.generated.init_producer_id import InitProducerIdRequest
    from headrace.frontends.kafka.context import Pending, RequestContext

API_KEY = 22
VERSIONS = (0, 5)

FENCED_FROM = 4
ABORTABLE_FROM = 5
NO_PRODUCER_ID, NO_PRODUCER_EPOCH = -1, -1


def handle(
    request: InitProducerIdRequest, context: RequestContext
) -> InitProducerIdResponse | Pending:
    transactional_id = request.transactional_id
    try:
        _raise_if_refused(transactional_id, context)
        expected = _expected(request)
        if transactional_id is None:
            producer_id = context.broker.producer_ids.allocate()
            return InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)
    except HeadraceError as error:
        return _render(error, context)
    command = InitProducerId(transactional_id, request.transaction_timeout_ms, expected)
    return ask(
        context.broker.transactions,
        transactional_id,
        command,
        lambda reply: _render(reply, context),
    )


def _raise_if_refused(transactional_id: str | None, context: RequestContext) -> None:
    if transactional_id is not None:
        raise_if_transactional_id_refused(context, Operation.WRITE, transactional_id)
    elif not context.allows_some(Operation.WRITE, ResourceType.TOPIC):
        raise_if_cluster_refused(context, Operation.IDEMPOTENT_WRITE)


def _expected(request: InitProducerIdRequest) -> ProducerIdentity | None:
    if (request.producer_id == NO_PRODUCER_ID) != (request.producer_epoch == NO_PRODUCER_EPOCH):
        raise InvalidRequest("producer id and epoch must be given both, or neither")
    if request.transactional_id == "":
        raise InvalidRequest("the transactional id must not be empty")
    if request.producer_id == NO_PRODUCER_ID:
        return None
    return ProducerIdentity(request.producer_id, request.producer_epoch)


def _render(reply: Any, context: RequestContext) -> InitProducerIdResponse:
    if isinstance(reply, HeadraceError):
        code = transaction_error_code(
            reply,
            knows_fenced=context.version >= FENCED_FROM,
            knows_abortable=context.version >= ABORTABLE_FROM,
        )
        return InitProducerIdResponse(
            error_code=code, producer_id=NO_PRODUCER_ID, producer_epoch=NO_PRODUCER_EPOCH
        )
    return InitProducerIdResponse(producer_id=reply.producer_id, producer_epoch=reply.epoch)
