"""Hands staged rows to a librdkafka producer.

This is the one place where the sink does work per record in Python; what it costs is told in
``docs/decisions/0014-exactly-once-sink.md``. ``Producer.produce_batch`` is no quicker, and knows no
headers.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
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
# What the library takes for "now".
TIME_OF_WRITING = 0


def produce_rows(producer: Producer, staged: pa.RecordBatch, stalled_seconds_max: float) -> None:
    """Queue every row. ``DeliveryFailed`` if the queue stays full for ``stalled_seconds_max``."""
    produce = producer.produce
    for record in _records(staged):
        try:
            produce(*record)
        except BufferError:
            _produce_when_possible(producer, record, stalled_seconds_max)
        except KafkaException as failure:
            raise named(failure, f"a record for {record[0]}") from failure
    poll(producer, 0)


def poll(producer: Producer, seconds: float) -> None:
    """Let callbacks be called."""
    with _end_named():
        producer.poll(seconds)


def flush(producer: Producer, seconds: float) -> int:
    """Wait until all is sent; how many records are left."""
    with _end_named():
        left: int = producer.flush(seconds)
    return left


@contextmanager
def _end_named() -> Iterator[None]:
    """What ends a producer is raised by the calls in which callbacks are called. The library loses
    the exception if there is another callback to be called right after it.
    """
    try:
        yield
    except KafkaException as failure:
        raise named(failure, "the producer") from failure
    except SystemError as lost:
        raise DeliveryFailed("the producer has ended, and the library lost why") from lost


def _records(staged: pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
    """The arguments of ``Producer.produce``; with names they would take twice the time."""
    for start in range(0, staged.num_rows, ROWS_AT_ONCE):
        topics, partitions, keys, values, headers = staged.slice(start, ROWS_AT_ONCE).columns
        rows = len(topics)
        yield from zip(
            _topics(topics),
            _objects(values),
            _objects(keys),
            _partitions(partitions),
            repeat(None, rows),
            repeat(None, rows),
            repeat(TIME_OF_WRITING, rows),
            _headers(headers),
            strict=True,
        )


def _topics(column: pa.DictionaryArray) -> Iterable[str]:
    """Most often it is one topic for all, and need not be looked up for each."""
    if len(column.dictionary) == 1:
        return repeat(column.dictionary[0].as_py(), len(column))
    names: list[str] = column.to_pylist()
    return names


def _objects(column: pa.Array) -> Iterable[bytes | None]:
    if column.null_count == len(column):
        return repeat(None, len(column))
    objects: list[bytes | None] = column.to_pylist()
    return objects


def _partitions(column: pa.Array) -> Iterable[int]:
    if column.null_count == len(column):
        return repeat(PARTITION_ANY, len(column))
    numbers: list[int] = column.fill_null(PARTITION_ANY).to_pylist()
    return numbers


def _headers(column: pa.Array) -> Iterable[list[tuple[str, bytes | None]] | None]:
    if column.null_count == len(column):
        return repeat(None, len(column))
    return [
        [(header["key"], header["value"]) for header in row] if row else None
        for row in column.to_pylist()
    ]


def _produce_when_possible(
    producer: Producer, record: tuple[Any, ...], stalled_seconds_max: float
) -> None:
    deadline = time.monotonic() + stalled_seconds_max
    while time.monotonic() < deadline:
        poll(producer, QUEUE_POLL_SECONDS)
        try:
            producer.produce(*record)
            return
        except BufferError:
            continue
        except KafkaException as failure:
            raise named(failure, f"a record for {record[0]}") from failure
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
