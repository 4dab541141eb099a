"""Producers and consumers of the sink: their settings, and their failures under our names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer

from headrace.model.errors import (
    HeadraceError,
    RecordTooLarge,
    TransactionalIdAuthorizationFailed,
)
from headrace.pipeline.broker_view import named_error, quiet_logger
from headrace.pipeline.client_settings import librdkafka_settings
from headrace.pipeline.errors import UnusableClientOption
from headrace.pipeline.sink.errors import DeliveryFailed, SinkFenced

if TYPE_CHECKING:
    from collections.abc import Mapping

    from confluent_kafka import Message

QUEUE_KIB_MAX = 128 * 1024

PRODUCER_SETTINGS: Mapping[str, str | bool] = {
    "enable.idempotence": "true",
    "acks": "all",
    # As the Java client: the same key goes to the same partition whoever writes it.
    "partitioner": "murmur2_random",
    "linger.ms": "20",
    "batch.size": "1000000",
    "queue.buffering.max.messages": "1000000",
    "queue.buffering.max.kbytes": str(QUEUE_KIB_MAX),
    # By default the library forgets all brokers when none answers, but not who coordinates a group:
    # after a restart of the broker it would wait for ever for one that it has forgotten.
    "metadata.recovery.strategy": "none",
    # Of the Python library itself, which wants a truth value.
    "delivery.report.only.error": True,
}
_FENCED = frozenset(
    {
        KafkaError._FENCED,
        KafkaError.INVALID_PRODUCER_EPOCH,
        KafkaError.PRODUCER_FENCED,
        KafkaError.INVALID_TXN_STATE,
    }
)
_CONSEQUENCES = frozenset(
    {
        KafkaError._STATE,
        KafkaError._FATAL,
        KafkaError._PURGE_QUEUE,
        KafkaError._PURGE_INFLIGHT,
    }
)
"""What the library says of everything that comes after a failure, whatever its reason was."""


class Refusals:
    """The first record that was not taken, told by a callback while the producer is polled.

    The calls that fail afterwards say just that something has failed.
    """

    def __init__(self) -> None:
        self.first: HeadraceError | None = None

    def on_delivery(self, error: KafkaError | None, message: Message) -> None:
        if error is not None and self.first is None and error.code() not in _CONSEQUENCES:
            self.first = named(KafkaException(error), f"a record for {message.topic()}")


def make_producer(
    kafka: Mapping[str, str],
    defaults: Mapping[str, str],
    fixed: Mapping[str, str],
    refusals: Refusals,
) -> Producer:
    """The user's settings are stronger than the defaults, and weaker than what is fixed."""
    settings: dict[str, Any] = {
        **PRODUCER_SETTINGS,
        **defaults,
        **librdkafka_settings(kafka, "producer"),
        **fixed,
        "on_delivery": refusals.on_delivery,
        "error_cb": _ignore,
    }
    made: Producer = _make(Producer, settings)
    return made


def _ignore(error: KafkaError) -> None:
    """Connections that fail heal, or end as another error.

    Only if there is such a callback do ``poll`` and ``flush`` raise what ends a producer.
    """


def make_consumer(kafka: Mapping[str, str], fixed: Mapping[str, str]) -> Consumer:
    made: Consumer = _make(Consumer, {**librdkafka_settings(kafka, "consumer"), **fixed})
    return made


def _make(kind: Any, settings: dict[str, Any]) -> Any:
    try:
        return kind(settings, logger=quiet_logger())
    except KafkaException as failure:
        raise UnusableClientOption(f"kafka options: {failure.args[0].str()}") from failure


def named(failure: KafkaException, what: str) -> HeadraceError:
    """The error of ours that says the same as this one of the library."""
    error: KafkaError = failure.args[0]
    code, text = error.code(), f"{what}: {error.str()}"
    if code == KafkaError.MSG_SIZE_TOO_LARGE:
        return RecordTooLarge(
            f"{text}; the client's limit is kafka.message.max.bytes, the topic's max.message.bytes"
        )
    if code == KafkaError.INVALID_TRANSACTION_TIMEOUT:
        return UnusableClientOption(
            f"{text}; kafka.transaction.timeout.ms may be as much as the broker's"
            " transaction.max.timeout.ms"
        )
    if code == KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
        return TransactionalIdAuthorizationFailed(text)
    if code == KafkaError._MSG_TIMED_OUT:
        return DeliveryFailed(f"{what}: not acknowledged in time")
    if code in _CONSEQUENCES:
        return DeliveryFailed(f"{what}: records before this one were not taken")
    if code in _FENCED:
        return SinkFenced(text)
    return named_error(error, what)
