from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException

from headrace.model.errors import AuthorizationFailed, HeadraceError, RecordTooLarge
from headrace.pipeline.errors import BrokerUnreachable, TopicMissing, UnusableClientOption
from headrace.pipeline.sink.clients import make_consumer, make_producer, named
from headrace.pipeline.sink.errors import DeliveryFailed, SinkFenced

HERE = {"bootstrap.servers": "127.0.0.1:1"}


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (KafkaError.MSG_SIZE_TOO_LARGE, RecordTooLarge),
        (KafkaError._FENCED, SinkFenced),
        (KafkaError.INVALID_PRODUCER_EPOCH, SinkFenced),
        (KafkaError._STATE, DeliveryFailed),
        (KafkaError._TIMED_OUT, BrokerUnreachable),
        (KafkaError._ALL_BROKERS_DOWN, BrokerUnreachable),
        (KafkaError.UNKNOWN_TOPIC_OR_PART, TopicMissing),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, AuthorizationFailed),
    ],
)
def test_failures_have_names(code: int, kind: type[HeadraceError]) -> None:
    error = named(KafkaException(KafkaError(code)), "writing")
    assert isinstance(error, kind)
    assert error.message.startswith("writing: ")


def test_an_option_that_does_not_exist_is_named() -> None:
    with pytest.raises(UnusableClientOption, match=r"no\.such\.thing"):
        make_producer({**HERE, "no.such.thing": "1"}, {}, {})


def test_an_option_with_a_wrong_value_is_named() -> None:
    with pytest.raises(UnusableClientOption, match="Invalid value"):
        make_producer({**HERE, "linger.ms": "soon"}, {}, {})


def test_what_the_sink_relies_on_cannot_be_switched_off() -> None:
    with pytest.raises(UnusableClientOption, match="acks"):
        make_producer({**HERE, "acks": "0"}, {}, {})


def test_what_is_fixed_is_stronger_than_the_user() -> None:
    consumer = make_consumer({**HERE, "group.id": ""}, {"group.id": "fixed"})
    consumer.close()
