from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from headrace.model.errors import (
    AuthorizationFailed,
    HeadraceError,
    RecordTooLarge,
    TransactionalIdAuthorizationFailed,
)
from headrace.pipeline.errors import BrokerUnreachable, TopicMissing, UnusableClientOption
from headrace.pipeline.sink.clients import Refusals, make_consumer, make_producer, named
from headrace.pipeline.sink.errors import DeliveryFailed, SinkFenced

HERE = {"bootstrap.servers": "127.0.0.1:1"}
MESSAGE: Any = SimpleNamespace(topic=lambda: "t")


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (KafkaError.MSG_SIZE_TOO_LARGE, RecordTooLarge),
        (KafkaError._FENCED, SinkFenced),
        (KafkaError.INVALID_PRODUCER_EPOCH, SinkFenced),
        (KafkaError._STATE, DeliveryFailed),
        (KafkaError._FATAL, DeliveryFailed),
        (KafkaError._MSG_TIMED_OUT, DeliveryFailed),
        (KafkaError._TIMED_OUT, BrokerUnreachable),
        (KafkaError._ALL_BROKERS_DOWN, BrokerUnreachable),
        (KafkaError.UNKNOWN_TOPIC_OR_PART, TopicMissing),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, AuthorizationFailed),
        (KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, TransactionalIdAuthorizationFailed),
        (KafkaError.INVALID_TRANSACTION_TIMEOUT, UnusableClientOption),
    ],
)
def test_failures_have_names(code: int, kind: type[HeadraceError]) -> None:
    error = named(KafkaException(KafkaError(code)), "writing")
    assert isinstance(error, kind)
    assert error.message.startswith("writing: ")


def test_the_first_refusal_counts() -> None:
    refusals = Refusals()
    refusals.on_delivery(None, MESSAGE)
    assert refusals.first is None
    refusals.on_delivery(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED), MESSAGE)
    refusals.on_delivery(KafkaError(KafkaError._MSG_TIMED_OUT), MESSAGE)
    assert isinstance(refusals.first, AuthorizationFailed)
    assert refusals.first.message.startswith("a record for t: ")


def test_what_only_follows_from_a_failure_is_not_its_reason() -> None:
    refusals = Refusals()
    for code in (KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT, KafkaError._FATAL):
        refusals.on_delivery(KafkaError(code), MESSAGE)
    assert refusals.first is None


def test_an_option_that_does_not_exist_is_named() -> None:
    with pytest.raises(UnusableClientOption, match=r"no\.such\.thing"):
        make_producer({**HERE, "no.such.thing": "1"}, {}, {}, Refusals())


def test_an_option_with_a_wrong_value_is_named() -> None:
    with pytest.raises(UnusableClientOption, match="Invalid value"):
        make_producer({**HERE, "linger.ms": "soon"}, {}, {}, Refusals())


def test_what_the_sink_relies_on_cannot_be_switched_off() -> None:
    with pytest.raises(UnusableClientOption, match="acks"):
        make_producer({**HERE, "acks": "0"}, {}, {}, Refusals())


def test_what_is_fixed_is_stronger_than_the_user() -> None:
    consumer = make_consumer({**HERE, "group.id": ""}, {"group.id": "fixed"})
    consumer.close()
