"""``write`` and ``writeStream`` of ``format("headrace")`` with a real Spark and a real broker."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

from pyspark.errors import PySparkException

from .committed import committed, values

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from headrace.testing import Broker

_names = itertools.count()
EXACTLY_ONCE = {"headrace.delivery": "exactly-once"}


@pytest.fixture
def topic(broker: Broker) -> str:
    return broker.create_topic(f"sink-{next(_names)}", 3)


def save(frame: DataFrame, broker: Broker, **options: str) -> None:
    writer = frame.write.format("headrace").mode("append")
    writer.option("kafka.bootstrap.servers", broker.bootstrap_servers).options(**options).save()


def stream(frame: DataFrame, broker: Broker, checkpoint: Path, **options: str) -> None:
    """Run a streaming query over all there is, to its end."""
    query = (
        frame.writeStream.format("headrace")
        .option("kafka.bootstrap.servers", broker.bootstrap_servers)
        .option("checkpointLocation", str(checkpoint))
        .options(**options)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


def read_stream(spark: SparkSession, broker: Broker, topic: str, **options: str) -> DataFrame:
    reader = spark.readStream.format("headrace")
    reader.option("kafka.bootstrap.servers", broker.bootstrap_servers)
    return reader.options(subscribe=topic, startingOffsets="earliest", **options).load()


@pytest.mark.parametrize("delivery", ["exactly-once", "at-least-once"])
def test_a_batch_with_all_columns(
    spark: SparkSession, broker: Broker, topic: str, delivery: str
) -> None:
    rows: list[Any] = [
        ("k", "one", topic, 2, [("h", b"1"), ("h", None)]),
        (None, None, topic, 1, None),
    ]
    frame = spark.createDataFrame(
        rows,
        "key string, value string, topic string, partition int,"
        " headers array<struct<key: string, value: binary>>",
    )
    save(frame, broker, **{"headrace.delivery": delivery})
    found = {m.partition(): m for m in committed(broker.bootstrap_servers, topic)}
    assert (found[2].key(), found[2].value()) == (b"k", b"one")
    assert found[2].headers() == [("h", b"1"), ("h", None)]
    assert (found[1].key(), found[1].value(), found[1].headers()) == (None, None, None)


def test_a_batch_that_fails_in_one_task_is_not_seen(
    spark: SparkSession, broker: Broker, topic: str
) -> None:
    frame = spark.range(100).selectExpr(
        "cast(id AS string) AS value",
        f"CASE WHEN id = 77 THEN NULL ELSE '{topic}' END AS topic",
    )
    with pytest.raises(PySparkException, match="1 rows have a null in column 'topic'"):
        save(frame.repartition(2), broker, **EXACTLY_ONCE)
    assert values(broker.bootstrap_servers, topic) == []


def test_a_batch_job_with_an_identity_is_not_repeated(
    spark: SparkSession, broker: Broker, topic: str
) -> None:
    frame = spark.range(10).selectExpr("cast(id AS string) AS value")
    identity = {"headrace.sink.id": topic, "headrace.batch.id": "4"}
    for _ in range(2):
        save(frame, broker, topic=topic, **EXACTLY_ONCE, **identity)
    assert len(values(broker.bootstrap_servers, topic)) == 10


@pytest.mark.parametrize(
    ("expression", "options", "text"),
    [
        ("id AS value", {"topic": "t"}, "column 'value' is bigint"),
        ("'x' AS value", {}, "no topic"),
        ("'x' AS data", {"topic": "t"}, "no column 'value'"),
        ("'x' AS value", {"topic": "t", "headrace.delivery": "sometimes"}, "must be exactly-once"),
    ],
)
def test_what_cannot_work_is_refused(
    spark: SparkSession, broker: Broker, expression: str, options: dict[str, str], text: str
) -> None:
    with pytest.raises(PySparkException, match=text):
        save(spark.range(1).selectExpr(expression), broker, **options)


def test_a_stream_is_written_once_over_several_runs(
    spark: SparkSession, broker: Broker, topic: str, tmp_path: Path
) -> None:
    source = broker.create_topic(f"{topic}-source", 2)
    for run in range(2):
        numbers = spark.range(run * 50, run * 50 + 50).selectExpr("cast(id AS string) AS value")
        save(numbers, broker, topic=source)
        rows = read_stream(spark, broker, source, maxOffsetsPerTrigger="20").select("key", "value")
        stream(rows, broker, tmp_path, topic=topic)
    found = values(broker.bootstrap_servers, topic)
    assert sorted(int(value or b"") for value in found) == list(range(100))


def test_a_batch_that_spark_has_forgotten_is_not_written_twice(
    spark: SparkSession, broker: Broker, topic: str, tmp_path: Path
) -> None:
    """A crash between the sink's commit and Spark's own: its commit file is not there."""
    source = broker.create_topic(f"{topic}-source", 2)
    save(spark.range(50).selectExpr("cast(id AS string) AS value"), broker, topic=source)
    files = {"headrace.staging.inline.bytes": "0"}
    for _ in range(2):
        # Another number of tasks, and another order: a replay is the same only as a set.
        rows = read_stream(spark, broker, source).select("value").repartition(2)
        stream(rows, broker, tmp_path, topic=topic, **files)
        last = max((tmp_path / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
        last.unlink()
        last.with_name(f".{last.name}.crc").unlink(missing_ok=True)
    assert len(values(broker.bootstrap_servers, topic)) == 50
    assert list(tmp_path.rglob("*.arrow")) == []


def test_a_new_checkpoint_starts_over(
    spark: SparkSession, broker: Broker, topic: str, tmp_path: Path
) -> None:
    source = broker.create_topic(f"{topic}-source", 1)
    save(spark.range(5).selectExpr("cast(id AS string) AS value"), broker, topic=source)
    for run in ("first", "second"):
        rows = read_stream(spark, broker, source).select("value")
        stream(rows, broker, tmp_path / run, topic=topic)
    assert len(values(broker.bootstrap_servers, topic)) == 10


def test_rows_name_their_topics(
    spark: SparkSession, broker: Broker, topic: str, tmp_path: Path
) -> None:
    source = broker.create_topic(f"{topic}-source", 1)
    other = broker.create_topic(f"{topic}-other", 1)
    save(spark.range(10).selectExpr("cast(id AS string) AS value"), broker, topic=source)
    rows = read_stream(spark, broker, source).selectExpr(
        "value", f"if(cast(value AS string) < '5', '{topic}', '{other}') AS topic"
    )
    stream(rows, broker, tmp_path)
    assert len(values(broker.bootstrap_servers, topic)) == 5
    assert len(values(broker.bootstrap_servers, other)) == 5
