"""InitProducerId: a new id for whoever is not transactional, a new epoch for whoever is."""

from __future__ import annotations

import pytest

from headrace.codecs.kafka.generated.init_producer_id import InitProducerIdRequest
from headrace.frontends.kafka.handlers import api_22_init_producer_id
from headrace.frontends.kafka.handlers.api_22_init_producer_id import handle
from headrace.testing.metadata_bench import MetadataBench
from headrace.testing.transaction_door import TransactionDoor

COORDINATOR_LOADING, INVALID_REQUEST, INVALID_EPOCH, INVALID_TIMEOUT, FENCED = 14, 42, 47, 50, 90


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


def initialise(door: TransactionDoor, version: int, *identity: int) -> tuple[int, int, int]:
    """(error code, producer id, epoch)"""
    request = InitProducerIdRequest("t", 1000, *identity)
    answer = door.call(api_22_init_producer_id, request, version)
    return answer.error_code, answer.producer_id, answer.producer_epoch


@pytest.mark.parametrize("version", range(6))
def test_transactional_producer_gets_the_same_id_and_the_next_epoch(version: int) -> None:
    door = TransactionDoor()
    code, producer_id, epoch = initialise(door, version)
    assert (code, epoch) == (0, 0)
    assert initialise(door, version) == (0, producer_id, 1)


@pytest.mark.parametrize("version", range(3, 6))
def test_producer_goes_on_after_an_error(version: int) -> None:
    door = TransactionDoor()
    _, producer_id, epoch = initialise(door, version)
    assert initialise(door, version, producer_id, epoch) == (0, producer_id, 1)
    assert initialise(door, version, producer_id, epoch) == (0, producer_id, 1), "it is repeated"
    assert initialise(door, version) == (0, producer_id, 2)
    fenced = FENCED if version >= 4 else INVALID_EPOCH
    assert initialise(door, version, producer_id, epoch) == (fenced, -1, -1)


@pytest.mark.parametrize("timeout_ms", [0, -1, 900_001])
def test_time_out_must_be_within_the_limits(timeout_ms: int) -> None:
    request = InitProducerIdRequest("t", timeout_ms)
    answer = TransactionDoor().call(api_22_init_producer_id, request, 5)
    assert answer.error_code == INVALID_TIMEOUT
