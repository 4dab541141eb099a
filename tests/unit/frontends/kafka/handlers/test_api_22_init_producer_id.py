"""InitProducerId: a new id for whoever is not transactional."""

from __future__ import annotations

import pytest

from headrace.codecs.kafka.generated.init_producer_id import InitProducerIdRequest
from headrace.frontends.kafka.handlers.api_22_init_producer_id import handle
from headrace.testing.metadata_bench import MetadataBench

COORDINATOR_LOADING, UNSUPPORTED_VERSION, INVALID_REQUEST, INVALID_TIMEOUT = 14, 35, 42, 50


def test_every_request_gets_a_new_id_with_epoch_zero() -> None:
    bench = MetadataBench()
    context = bench.context(5)
    first = handle(InitProducerIdRequest(None), context)
    second = handle(InitProducerIdRequest(None, producer_id=0, producer_epoch=3), context)
    assert (first.error_code, first.producer_id, first.producer_epoch) == (0, 0, 0)
    assert (second.error_code, second.producer_id, second.producer_epoch) == (0, 1, 0)


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (InitProducerIdRequest("transactional", 1000), UNSUPPORTED_VERSION),
        (InitProducerIdRequest("transactional", 0), INVALID_TIMEOUT),
        (InitProducerIdRequest("transactional", 900_001), INVALID_TIMEOUT),
        (InitProducerIdRequest(""), INVALID_REQUEST),
        (InitProducerIdRequest(None, producer_id=4), INVALID_REQUEST),
        (InitProducerIdRequest(None, producer_epoch=4), INVALID_REQUEST),
    ],
)
def test_request_is_refused(request_: InitProducerIdRequest, code: int) -> None:
    answer = handle(request_, MetadataBench().context(5))
    assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (code, -1, -1)


def test_client_is_told_to_try_again_while_ids_are_reserved() -> None:
    bench = MetadataBench()
    for _ in range(1000):
        bench.producer_ids.allocate()
    answer = handle(InitProducerIdRequest(None), bench.context(4))
    assert answer.error_code == COORDINATOR_LOADING
