"""The engine on a real Spark and a real broker, into all three kinds of tables."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from headrace.pipeline.errors import SchemaConflict, TargetInUse, TopicMissing
from headrace.pipeline.parquet import ParquetSettings, run_parquet, stream_parquet
from headrace.testing import Broker

from .lake import KINDS, assert_each_once, files_of, parked_of, query
from .topics import CALL_SECONDS, add_partitions, fill, new_topic, producer, send_in_transaction

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

RECORDS = 1_200


def settings_of(broker: Broker, topic: str, target: Path, **changes: object) -> ParquetSettings:
    source = {
        "kafka.bootstrap.servers": broker.bootstrap_servers,
        "subscribe": topic,
        **changes.pop("source", {}),  # type: ignore[dict-item]
    }
    return ParquetSettings(job="lake", source=source, target=str(target), **changes)  # type: ignore[arg-type]


def send(broker: Broker, topic: str, *values: bytes) -> None:
    made = producer(broker)
    for value in values:
        made.produce(topic, value, partition=0)
    assert made.flush(CALL_SECONDS) == 0


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("plain", "storage"),
        ("delta", "fetch"),
        ("iceberg", "storage"),
        pytest.param("plain", "fetch", marks=pytest.mark.slow),
        pytest.param("delta", "storage", marks=pytest.mark.slow),
        pytest.param("iceberg", "fetch", marks=pytest.mark.slow),
    ],
)
def test_every_record_once(
    spark: SparkSession, broker: Broker, tmp_path: Path, kind: str, path: str
) -> None:
    topic = new_topic(broker, 3)
    fill(broker, topic, RECORDS, "lz4")
    options = {"headrace.read.path": path, "maxOffsetsPerTrigger": "500"}
    settings = settings_of(broker, topic, tmp_path / "lake", table=kind, source=options)
    report = run_parquet(spark, settings)
    assert (report.batches, report.rows, report.parked_rows) == (3, RECORDS, 0)
    fill(broker, topic, 30, first=RECORDS)
    assert run_parquet(spark, settings).rows == 30
    assert run_parquet(spark, settings).batches == 0
    files = files_of(kind, settings.target)
    assert_each_once(files, [RECORDS // 3 + 10] * 3)
    (found,) = query(
        files, "key, value::varchar, headers[1].key, topic", "where value = 'value-1'::blob"
    )
    assert found == (b"key-1", "value-1", "trace", topic)
    assert spark.read.parquet(*files).count() == RECORDS + 30


@pytest.mark.parametrize("kind", KINDS)
def test_fields_come_later_and_bad_records_are_parked(
    spark: SparkSession, broker: Broker, tmp_path: Path, kind: str
) -> None:
    topic = new_topic(broker, 1)
    settings = settings_of(
        broker, topic, tmp_path / "lake", table=kind, decoding={"format": "json"}
    )
    send(broker, topic, b'{"id": 1, "name": "a"}', b"{bad")
    run_parquet(spark, settings)
    send(broker, topic, b'{"id": 2, "more": [1.5]}', b'{"id": "text"}')
    report = run_parquet(spark, settings)
    assert (report.rows, report.parked_rows) == (1, 1)
    assert query(files_of(kind, settings.target), "id, name, more", "order by id") == [
        (1, "a", None),
        (2, None, [1.5]),
    ]
    parked = query(parked_of(kind, settings.target), '"offset", value', 'order by "offset"')
    assert parked == [(1, b"{bad"), (3, b'{"id": "text"}')]


def test_the_registry_says_what_values_are(spark: SparkSession, tmp_path: Path) -> None:
    old = {"type": "record", "name": "R", "fields": [{"name": "id", "type": "int"}]}
    city = {"name": "city", "type": "string", "default": "nowhere"}
    new = {**old, "fields": [*old["fields"], city]}
    with Broker(http=True) as broker, SchemaRegistryClient({"url": broker.http_url}) as client:
        topic = new_topic(broker, 1)
        context = SerializationContext(topic, MessageField.VALUE)
        for schema, value in ((old, {"id": 1}), (new, {"id": 2, "city": "Bern"})):
            serialize = AvroSerializer(client, json.dumps(schema))
            send(broker, topic, serialize(value, context))
        send(broker, topic, b"\0\0\0\0\x63x", b"plain")
        decoding = {"format": "registry", "registry_url": broker.http_url}
        settings = settings_of(broker, topic, tmp_path / "lake", decoding=decoding)
        report = run_parquet(spark, settings)
    assert (report.rows, report.parked_rows) == (2, 2)
    files = files_of("plain", settings.target)
    assert query(files, "id, city", "order by id") == [(1, "nowhere"), (2, "Bern")]
    reasons = query(parked_of("plain", settings.target), "reason", 'order by "offset"')
    assert reasons[0] == ("schema 99 is not in the registry",)


def test_only_committed_records_where_asked_for(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    topic = new_topic(broker, 1)
    send_in_transaction(broker, topic, 5, is_committed=False)
    send_in_transaction(broker, topic, 5, is_committed=True, first=5)
    source = {"kafka.isolation.level": "read_committed"}
    settings = settings_of(broker, topic, tmp_path / "lake", source=source)
    assert run_parquet(spark, settings).rows == 5
    files = files_of("plain", settings.target)
    assert query(files, "value::varchar", "order by 1") == [(str(n),) for n in range(5, 10)]


def test_a_stream_follows_and_stops(
    spark: SparkSession,
    broker: Broker,
    tmp_path: Path,
    eventually: Callable[[Callable[[], bool]], None],
) -> None:
    topic = new_topic(broker, 1)
    settings = settings_of(
        broker, topic, tmp_path / "lake", table="delta", trigger_seconds=0.1, compact_batches=2
    )
    stop = threading.Event()
    rows: list[int] = []
    stream = threading.Thread(
        target=stream_parquet,
        args=(spark, settings),
        kwargs={
            "on_progress": lambda progress: rows.append(progress.rows),
            "should_stop": stop.is_set,
        },
    )
    stream.start()
    try:
        for number in range(4):
            if number == 2:
                add_partitions(broker, topic, 2)
            fill(broker, topic, 10, first=number * 10)
            eventually(lambda wanted=(number + 1) * 10: sum(rows) == wanted)  # type: ignore[misc]
    finally:
        stop.set()
        stream.join(CALL_SECONDS)
    assert not stream.is_alive()
    assert_each_once(files_of("delta", settings.target), [30, 10])


def test_what_is_wrong_is_named(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    with pytest.raises(TopicMissing):
        run_parquet(spark, settings_of(broker, "no-such-topic", tmp_path / "a"))
    topic = new_topic(broker, 1)
    send(broker, topic, b'{"id": 1}')
    settings = settings_of(broker, topic, tmp_path / "lake")
    run_parquet(spark, settings)
    with pytest.raises(SchemaConflict):
        run_parquet(
            spark, settings_of(broker, topic, tmp_path / "lake", decoding={"format": "json"})
        )
    with pytest.raises(TargetInUse):
        run_parquet(spark, replace(settings, job="other"))
    assert_each_once(files_of("plain", settings.target), [1])
