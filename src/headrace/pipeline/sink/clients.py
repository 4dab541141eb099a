"""Producers and consumers of the sink: their settings, and their failures under our names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer

from headrace.model.errors import HeadraceError, RecordTooLarge
from headrace.pipeline.broker_view import named_error, quiet_logger
from headrace.pipeline.client_settings import librdkafka_settings
from headrace.pipeline.errors import UnusableClientOption
from headrace.pipeline.sink.errors import DeliveryFailed, SinkFenced

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

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


def make_producer(
    kafka: Mapping[str, str],
    defaults: Mapping[str, str],
    fixed: Mapping[str, str],
    on_delivery: Callable[..., None] | None = None,
) -> Producer:
    """The user's settings are stronger than the defaults, and weaker than what is fixed."""
    settings: dict[str, Any] = {
        **PRODUCER_SETTINGS,
        **defaults,
        **librdkafka_settings(kafka, "producer"),
        **fixed,
    }
    if on_delivery is not None:
        settings["on_delivery"] = on_delivery
    made: Producer = _make(Producer, settings)
    return made


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
    if error.code() == KafkaError.MSG_SIZE_TOO_LARGE:
        return RecordTooLarge(f"{what}: {error.str()}; see kafka.message.max.bytes")
    if error.code() == KafkaError._STATE:
        # What the library says once records of the transaction have failed, whatever the reason.
        return DeliveryFailed(f"{what}: records before this one were not taken")
    if error.code() in _FENCED:
        return SinkFenced(f"{what}: {error.str()}")
    return named_error(error, what)
