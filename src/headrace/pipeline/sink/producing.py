"""Hands staged rows to a librdkafka producer.

This is the one place where the sink does work per record in Python: some 500,000 records/s of 100 B
on one core. ``Producer.produce_batch`` is no quicker, and knows no headers.
"""

from __future__ import annotations

import time
from itertools import repeat
from typing import TYPE_CHECKING, Any

from confluent_kafka import KafkaError, KafkaException

from headrace.pipeline.errors import TopicMissing
from headrace.pipeline.sink.clients import named
from headrace.pipeline.sink.columns import PARTITION_ANY
from headrace.pipeline.sink.errors import DeliveryFailed, InvalidSinkRow

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import pyarrow as pa
    from confluent_kafka import Producer

METADATA_SECONDS_MAX = 30.0
METADATA_ATTEMPTS_MAX = 20
METADATA_PAUSE_SECONDS = 0.25
QUEUE_POLL_SECONDS = 0.05
# Rows that are Python objects at one time.
ROWS_AT_ONCE = 8192


def produce_rows(producer: Producer, staged: pa.RecordBatch, stalled_seconds_max: float) -> None:
    """Queue every row. ``DeliveryFailed`` if the queue stays full for ``stalled_seconds_max``."""
    produce = producer.produce
    for topic, value, key, partition, headers in _rows(staged):
        try:
            produce(topic, value, key, partition, headers=headers)
        except BufferError:
            record = {"value": value, "key": key, "partition": partition, "headers": headers}
            _produce_when_possible(producer, topic, record, stalled_seconds_max)
        except KafkaException as failure:
            raise named(failure, f"a record for {topic}") from failure
    producer.poll(0)


def _rows(staged: pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
    for start in range(0, staged.num_rows, ROWS_AT_ONCE):
        topics, partitions, keys, values, headers = staged.slice(start, ROWS_AT_ONCE).columns
        yield from zip(
            _topics(topics),
            _objects(values),
            _objects(keys),
            _objects(partitions.fill_null(PARTITION_ANY)),
            _headers(headers),
            strict=True,
        )


def _topics(column: pa.DictionaryArray) -> Iterable[str]:
    """Most often it is one topic for all, and need not be looked up for each."""
    if len(column.dictionary) == 1:
        return repeat(column.dictionary[0].as_py(), len(column))
    names: list[str] = column.to_pylist()
    return names


def _objects(column: pa.Array) -> Iterable[Any]:
    if column.null_count == len(column):
        return repeat(None, len(column))
    objects: list[Any] = column.to_pylist()
    return objects


def _headers(column: pa.Array) -> Iterable[list[tuple[str, bytes | None]] | None]:
    if column.null_count == len(column):
        return repeat(None, len(column))
    return [
        [(header["key"], header["value"]) for header in row] if row else None
        for row in column.to_pylist()
    ]


def _produce_when_possible(
    producer: Producer, topic: str, record: dict[str, Any], stalled_seconds_max: float
) -> None:
    deadline = time.monotonic() + stalled_seconds_max
    while time.monotonic() < deadline:
        producer.poll(QUEUE_POLL_SECONDS)
        try:
            producer.produce(topic, **record)
            return
        except BufferError:
            continue
        except KafkaException as failure:
            raise named(failure, f"a record for {topic}") from failure
    raise DeliveryFailed(f"the broker has taken nothing for {stalled_seconds_max:.0f} s")


def check_topics(producer: Producer, topics: Mapping[str, int]) -> None:
    """Raise unless all topics exist, with the partitions that are asked for."""
    for topic, partition in sorted(topics.items()):
        partitions = _partition_count(producer, topic)
        if partition >= partitions:
            raise InvalidSinkRow(
                f"column 'partition' holds {partition}, but {topic} has {partitions} partitions"
            )


def _partition_count(producer: Producer, topic: str) -> int:
    """Asks until a topic that the broker is just creating has partitions."""
    for _ in range(METADATA_ATTEMPTS_MAX):
        try:
            metadata = producer.list_topics(topic, timeout=METADATA_SECONDS_MAX).topics[topic]
        except KafkaException as failure:
            raise named(failure, f"asking for topic {topic}") from failure
        if metadata.error is None and metadata.partitions:
            return len(metadata.partitions)
        if metadata.error is not None and not _is_passing(metadata.error):
            raise named(KafkaException(metadata.error), f"topic {topic}")
        time.sleep(METADATA_PAUSE_SECONDS)
    raise TopicMissing(f"topic {topic} does not exist, and the broker does not create it")


def _is_passing(error: KafkaError) -> bool:
    return error.code() in (KafkaError.LEADER_NOT_AVAILABLE, KafkaError.UNKNOWN_TOPIC_OR_PART)
