"""At least once: a task sends its rows itself, as Spark's Kafka sink does.

An attempt that fails has written a part; the next one writes everything again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.pipeline.client_settings import timeout_seconds
from headrace.pipeline.sink.clients import make_producer
from headrace.pipeline.sink.columns import to_staged, topics_of
from headrace.pipeline.sink.errors import DeliveryFailed
from headrace.pipeline.sink.producing import check_topics, produce_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pyarrow as pa
    from confluent_kafka import KafkaError, Message

DELIVERY_TIMEOUT = "delivery.timeout.ms"
DELIVERY_TIMEOUT_MS = 120_000


def send(batches: Iterable[pa.RecordBatch], topic: str | None, kafka: Mapping[str, str]) -> int:
    """Send all rows and return how many, once the broker has acknowledged each of them."""
    failures: list[str] = []

    def delivered(error: KafkaError | None, message: Message) -> None:
        if error is not None and not failures:
            failures.append(f"a record for {message.topic()}: {error.str()}")

    defaults = {DELIVERY_TIMEOUT: str(DELIVERY_TIMEOUT_MS)}
    producer = make_producer(kafka, defaults, {}, delivered)
    stalled_seconds_max = timeout_seconds(kafka, DELIVERY_TIMEOUT, DELIVERY_TIMEOUT_MS)
    highest: dict[str, int] = {}
    rows = 0
    for batch in batches:
        staged = to_staged(batch, topic)
        unseen = {t: p for t, p in topics_of(staged).items() if p > highest.get(t, -2)}
        check_topics(producer, unseen)
        highest.update(unseen)
        produce_rows(producer, staged, stalled_seconds_max)
        rows += staged.num_rows
        _raise_if_failed(failures)
    # The library gives up on a record by itself in half of this time.
    left = producer.flush(2 * stalled_seconds_max)
    _raise_if_failed(failures)
    if left:
        raise DeliveryFailed(f"{left} records were not acknowledged")
    return rows


def _raise_if_failed(failures: list[str]) -> None:
    if failures:
        raise DeliveryFailed(failures[0])
