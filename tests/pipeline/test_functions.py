"""Functions from topic to topic, with a real Spark and a real broker."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

from confluent_kafka import Producer
from pyspark.errors import PySparkException

from headrace.pipeline.functions import (
    Record,
    RunSettings,
    TopicTable,
    WindowedCount,
    function,
    start,
)
from headrace.pipeline.functions.errors import InvalidFunction
from headrace.pipeline.functions.running import build

from .committed import committed, values

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from headrace.pipeline.functions.definition import Job
    from headrace.testing import Broker

_names = itertools.count()
MINUTE_MS = 60_000


class Topics:
    """A source, a sink and a place for dead letters, of one test."""

    def __init__(self, spark: SparkSession, broker: Broker, checkpoint: Path) -> None:
        prefix = f"function-{next(_names)}"
        self._spark = spark
        self._broker = broker
        self._checkpoint = checkpoint
        self.source = broker.create_topic(f"{prefix}-in", 2)
        self.sink = broker.create_topic(f"{prefix}-out", 2)
        self.dead = broker.create_topic(f"{prefix}-in.dead-letter", 1)
        self.users = broker.create_topic(f"{prefix}-users", 1, {"cleanup.policy": "compact"})

    def produce(self, topic: str, *records: tuple[bytes | None, bytes, int]) -> None:
        """Key, value, timestamp in milliseconds."""
        producer = Producer({"bootstrap.servers": self._broker.bootstrap_servers})
        for key, value, timestamp_ms in records:
            producer.produce(topic, value, key, timestamp=timestamp_ms)
        assert producer.flush(30) == 0

    def produce_and_abort(self, topic: str, value: bytes) -> None:
        settings = {"bootstrap.servers": self._broker.bootstrap_servers}
        producer = Producer({**settings, "transactional.id": topic})
        producer.init_transactions(30)
        producer.begin_transaction()
        producer.produce(topic, value)
        producer.flush(30)
        producer.abort_transaction(30)

    def run(self, job: Job) -> None:
        """All that is there now."""
        kafka = {"bootstrap.servers": self._broker.bootstrap_servers}
        settings = RunSettings(kafka, str(self._checkpoint), is_bounded=True)
        start(self._spark, job, settings).awaitTermination()

    def values(self, topic: str) -> list[bytes | None]:
        return values(self._broker.bootstrap_servers, topic)

    def read(self, topic: str) -> list[Any]:
        return committed(self._broker.bootstrap_servers, topic)


@pytest.fixture
def topics(spark: SparkSession, broker: Broker, tmp_path: Path) -> Topics:
    return Topics(spark, broker, tmp_path)


def test_map_filter_and_dead_letters_over_two_runs(topics: Topics) -> None:
    @function(source=topics.source, sink=topics.sink)
    def halve(record: Record) -> bytes | None:
        number = int(record.value or b"")
        return b"%d" % (number // 2) if number % 2 == 0 else None

    topics.produce(topics.source, (b"a", b"2", 0), (b"a", b"3", 0), (b"a", b"four", 0))
    topics.run(halve)
    topics.produce(topics.source, (b"b", b"6", 0))
    topics.run(halve)
    topics.run(halve)
    assert topics.values(topics.sink) == [b"1", b"3"]
    (letter,) = topics.read(topics.dead)
    notes = dict(letter.headers())
    assert (letter.key(), letter.value()) == (b"a", b"four")
    assert notes["headrace.error.reason"].startswith(b"ValueError: invalid literal")
    assert notes["headrace.error.topic"] == topics.source.encode()


@pytest.mark.slow
def test_flat_map(topics: Topics) -> None:
    @function(source=topics.source, sink=topics.sink)
    def words(record: Record) -> list[Record]:
        return [record._replace(value=word) for word in (record.value or b"").split()]

    topics.produce(topics.source, (None, b"to be or", 0), (None, b"not to be", 0))
    topics.run(words)
    assert topics.values(topics.sink) == [b"be", b"be", b"not", b"or", b"to", b"to"]


def test_what_a_transaction_took_back_is_not_given_to_a_function(topics: Topics) -> None:
    @function(source=topics.source, sink=topics.sink)
    def copy(record: Record) -> bool:
        return True

    topics.produce_and_abort(topics.source, b"never was")
    topics.produce(topics.source, (None, b"was", 0))
    topics.run(copy)
    assert topics.values(topics.sink) == [b"was"]


def test_enrich_from_a_compacted_topic(topics: Topics) -> None:
    @function(source=topics.source, sink=topics.sink, tables={"users": TopicTable(topics.users)})
    def greet(record: Record, tables: dict[str, Any]) -> bytes:
        return b"hello " + tables["users"].get(record.key, b"stranger")

    topics.produce(topics.users, (b"1", b"old", 0), (b"1", b"Ada", 0))
    topics.produce(topics.source, (b"1", b"", 0), (b"2", b"", 0))
    topics.run(greet)
    assert topics.values(topics.sink) == [b"hello Ada", b"hello stranger"]


@pytest.mark.slow
def test_a_job_that_is_to_stop_goes_on_when_the_function_is_mended(topics: Topics) -> None:
    @function(source=topics.source, sink=topics.sink, on_error="stop")
    def strict(record: Record) -> bytes:
        return b"%d" % int(record.value or b"")

    topics.produce(topics.source, (None, b"1", 0), (None, b"x", 0))
    with pytest.raises(PySparkException, match=r"strict, .* invalid literal"):
        topics.run(strict)
    assert topics.values(topics.sink) == []

    @function(source=topics.source, sink=topics.sink, on_error="stop")
    def mended(record: Record) -> bytes:
        return record.value or b""

    topics.run(mended)
    assert topics.values(topics.sink) == [b"1", b"x"]


def test_windows_are_counted_once_when_they_are_over(topics: Topics) -> None:
    job = WindowedCount("count", topics.source, topics.sink, "1 minute", "30 seconds")
    base_ms = 1_700_000_040_000 // MINUTE_MS * MINUTE_MS
    at = [base_ms + second * 1000 for second in (0, 10, 59, 70, 3600)]
    topics.produce(topics.source, *[(b"a", b"", time_ms) for time_ms in at])
    topics.produce(topics.source, (b"b", b"", base_ms))
    topics.run(job)
    # The windows are closed by the youngest record; the one that holds it stays open.
    topics.produce(topics.source, (b"a", b"too late", base_ms), (b"a", b"", base_ms + 7_200_000))
    topics.run(job)
    found = sorted(
        (message.key(), *json.loads(message.value()).values())
        for message in topics.read(topics.sink)
    )
    hour_ms = base_ms + 3_600_000
    assert found == [
        (b"a", base_ms, base_ms + MINUTE_MS, 3),
        (b"a", base_ms + MINUTE_MS, base_ms + 2 * MINUTE_MS, 1),
        (b"a", hour_ms, hour_ms + MINUTE_MS, 1),
        (b"b", base_ms, base_ms + MINUTE_MS, 1),
    ]


def test_a_count_that_spark_does_not_understand_is_named(topics: Topics) -> None:
    job = WindowedCount("count", topics.source, topics.sink, "1 minuet", "30 seconds")
    with pytest.raises(InvalidFunction, match="count: "):
        topics.run(job)


def test_keys_of_counts_are_text_unless_they_are_binary(spark: SparkSession) -> None:
    records = spark.sql("SELECT x'FF' AS key, 7 AS partition, timestamp'2024-01-02' AS timestamp")
    for by, key in (("key", b"\xff"), ("partition", b"7")):
        job = WindowedCount("count", "in", "out", "1 minute", "30 seconds", by=by)
        (row,) = build(records, job, {}).collect()
        assert (row.topic, bytes(row.key)) == ("out", key)
