"""InitProducerId (key 22), versions 0-5.

v2 flexible · v3 the producer's present id and epoch, to have them bumped (KIP-360) ·
v4 PRODUCER_FENCED · v5 transactions of version 2.

Without a transactional id every request gets a new id with epoch 0, whatever the producer had. With
one, the answer is UNSUPPORTED_VERSION (or INVALID_TRANSACTION_TIMEOUT): this broker does not
coordinate transactions, and a client must not be made to try again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.codecs.kafka.generated.init_producer_id import InitProducerIdResponse
from headrace.frontends.kafka.errors import error_code
from headrace.model.errors import (
    HeadraceError,
    InvalidRequest,
    InvalidTransactionTimeout,
    UnsupportedVersion,
)

if TYPE_CHECKING:
    from headrace.codecs.kafka.generated.init_producer_id import InitProducerIdRequest
    from headrace.frontends.kafka.context import RequestContext

API_KEY = 22
VERSIONS = (0, 5)

NO_PRODUCER_ID, NO_PRODUCER_EPOCH = -1, -1


def handle(request: InitProducerIdRequest, context: RequestContext) -> InitProducerIdResponse:
    try:
        _raise_if_refused(request, context.broker.config.transaction_max_timeout_ms)
        producer_id = context.broker.producer_ids.allocate()
    except HeadraceError as error:
        return InitProducerIdResponse(
            error_code=error_code(error),
            producer_id=NO_PRODUCER_ID,
            producer_epoch=NO_PRODUCER_EPOCH,
        )
    return InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)


def _raise_if_refused(request: InitProducerIdRequest, timeout_ms_max: int) -> None:
    if (request.producer_id == NO_PRODUCER_ID) != (request.producer_epoch == NO_PRODUCER_EPOCH):
        raise InvalidRequest("producer id and epoch must be given both, or neither")
    if request.transactional_id == "":
        raise InvalidRequest("the transactional id must not be empty")
    if request.transactional_id is None:
        return
    if not 0 < request.transaction_timeout_ms <= timeout_ms_max:
        raise InvalidTransactionTimeout(f"transaction.max.timeout.ms={timeout_ms_max}")
    raise UnsupportedVersion("this broker does not coordinate transactions")
