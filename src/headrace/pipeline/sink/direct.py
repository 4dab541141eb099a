"""At least once: a task sends its rows itself, as Spark's Kafka sink does.

An attempt that fails has written a part; the next one writes everything again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.pipeline.client_settings import timeout_seconds
from headrace.pipeline.sink.clients import Refusals, make_producer
from headrace.pipeline.sink.columns import to_staged, topics_of
from headrace.pipeline.sink.errors import DeliveryFailed
from headrace.pipeline.sink.producing import check_topics, flush, produce_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pyarrow as pa

DELIVERY_TIMEOUT = "delivery.timeout.ms"
DELIVERY_TIMEOUT_MS = 120_000


def send(batches: Iterable[pa.RecordBatch], topic: str | None, kafka: Mapping[str, str]) -> None:
    """Send all rows, and return once the broker has acknowledged each of them."""
    refusals = Refusals()
    defaults = {DELIVERY_TIMEOUT: str(DELIVERY_TIMEOUT_MS)}
    producer = make_producer(kafka, defaults, {}, refusals)
    stalled_seconds_max = timeout_seconds(kafka, DELIVERY_TIMEOUT, DELIVERY_TIMEOUT_MS)
    highest: dict[str, int] = {}
    for batch in batches:
        staged = to_staged(batch, topic)
        unseen = {
            name: partition
            for name, partition in topics_of(staged).items()
            if name not in highest or partition > highest[name]
        }
        check_topics(producer, unseen)
        highest.update(unseen)
        produce_rows(producer, staged, stalled_seconds_max)
        _raise_first(refusals)
    # The library gives up on a record by itself in half of this time.
    left = flush(producer, 2 * stalled_seconds_max)
    _raise_first(refusals)
    if left:
        raise DeliveryFailed(f"{left} records were not acknowledged")


def _raise_first(refusals: Refusals) -> None:
    if refusals.first is not None:
        raise refusals.first
