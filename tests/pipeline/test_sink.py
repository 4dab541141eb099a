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
    from pyspark.sql.streaming.query import StreamingQuery

    from headrace.testing import Broker

_names = itertools.count()
EXACTLY_ONCE = {"headrace.delivery": "exactly-once"}


@pytest.fixture
def topic(broker: Broker) -> str:
    return broker.create_topic(f"sink-{next(_names)}", 3)


def save(frame: DataFrame, broker: Broker, **options: str) -> None:
    writer = frame.write.format("headrace").mode("append")
    writer.option("kafka.bootstrap.servers", broker.bootstrap_servers).options(**options).save()


def start(frame: DataFrame, broker: Broker, checkpoint: Path, **options: str) -> StreamingQuery:
    """A streaming query over all there is."""
    return (
        frame.writeStream.format("headrace")
        .option("kafka.bootstrap.servers", broker.bootstrap_servers)
        .option("checkpointLocation", str(checkpoint))
        .options(**options)
        .trigger(availableNow=True)
        .start()
    )


def stream(frame: DataFrame, broker: Broker, checkpoint: Path, **options: str) -> None:
    """Run a streaming query over all there is, to its end."""
    start(frame, broker, checkpoint, **options).awaitTermination()


def forget_last_commit(checkpoint: Path) -> None:
    """As after a crash between the sink's commit and Spark's own."""
    last = max((checkpoint / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
    last.unlink()
    last.with_name(f".{last.name}.crc").unlink(missing_ok=True)


class Lines:
    """A directory as source: every file is a batch, every line a row."""

    def __init__(self, spark: SparkSession, directory: Path) -> None:
        self._spark = spark
        self._directory = directory
        directory.mkdir()

    def add(self, *numbers: int) -> None:
        name = f"{len(list(self._directory.iterdir())):03d}.txt"
        (self._directory / name).write_text("".join(f"{number}\n" for number in numbers))

    def read(self) -> DataFrame:
        reader = self._spark.readStream.format("text").option("maxFilesPerTrigger", "1")
        return reader.load(str(self._directory))


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


@pytest.fixture
def lines(spark: SparkSession, tmp_path: Path) -> Lines:
    return Lines(spark, tmp_path / "lines")


def test_a_stream_is_written_once_over_several_runs(
    broker: Broker, topic: str, lines: Lines, tmp_path: Path
) -> None:
    for run in range(2):
        for part in range(2):
            lines.add(*range(50 * run + 25 * part, 50 * run + 25 * part + 25))
        stream(lines.read(), broker, tmp_path / "checkpoint", topic=topic)
    found = values(broker.bootstrap_servers, topic)
    assert sorted(int(value or b"") for value in found) == list(range(100))


def test_a_batch_that_spark_has_forgotten_is_not_written_twice(
    broker: Broker, topic: str, lines: Lines, tmp_path: Path
) -> None:
    lines.add(*range(50))
    files = {"headrace.staging.inline.bytes": "0"}
    for tasks in (2, 3):
        # Another number of tasks, and another order: a replay is the same only as a set.
        stream(lines.read().repartition(tasks), broker, tmp_path, topic=topic, **files)
        forget_last_commit(tmp_path)
    assert len(values(broker.bootstrap_servers, topic)) == 50
    assert list(tmp_path.rglob("*.arrow")) == []


def test_a_new_checkpoint_starts_over(
    broker: Broker, topic: str, lines: Lines, tmp_path: Path
) -> None:
    lines.add(*range(5))
    for run in ("first", "second"):
        stream(lines.read(), broker, tmp_path / run, topic=topic)
    assert len(values(broker.bootstrap_servers, topic)) == 10


def test_from_topic_to_topics(
    spark: SparkSession, broker: Broker, topic: str, tmp_path: Path
) -> None:
    source = broker.create_topic(f"{topic}-source", 1)
    other = broker.create_topic(f"{topic}-other", 1)
    save(spark.range(10).selectExpr("cast(id AS string) AS value"), broker, topic=source)
    reader = spark.readStream.format("headrace").option("startingOffsets", "earliest")
    reader.options(**{"kafka.bootstrap.servers": broker.bootstrap_servers, "subscribe": source})
    rows = reader.load().selectExpr(
        "value", f"if(cast(value AS string) < '5', '{topic}', '{other}') AS topic"
    )
    stream(rows, broker, tmp_path)
    assert len(values(broker.bootstrap_servers, topic)) == 5
    assert len(values(broker.bootstrap_servers, other)) == 5


def test_two_queries_at_a_time(broker: Broker, topic: str, lines: Lines, tmp_path: Path) -> None:
    """Their batches are committed by processes that Spark takes in turn."""
    other = broker.create_topic(f"{topic}-other", 1)
    for batch in range(6):
        lines.add(*range(10 * batch, 10 * batch + 10))
    queries = [
        start(lines.read(), broker, tmp_path / target, topic=target) for target in (topic, other)
    ]
    for query in queries:
        query.awaitTermination()
    wanted = sorted(b"%d" % number for number in range(60))
    assert values(broker.bootstrap_servers, topic) == wanted
    assert values(broker.bootstrap_servers, other) == wanted


def test_foreach_batch_is_exactly_once_with_an_id(
    broker: Broker, topic: str, lines: Lines, tmp_path: Path
) -> None:
    lines.add(*range(5))

    def write(frame: DataFrame, batch_id: int) -> None:
        identity = {"headrace.sink.id": topic, "headrace.batch.id": str(batch_id)}
        save(frame, broker, topic=topic, **EXACTLY_ONCE, **identity)

    def run(checkpoint: Path) -> None:
        writer = lines.read().writeStream.foreachBatch(write).trigger(availableNow=True)
        writer.option("checkpointLocation", str(checkpoint)).start().awaitTermination()

    run(tmp_path / "first")
    forget_last_commit(tmp_path / "first")
    run(tmp_path / "first")
    assert len(values(broker.bootstrap_servers, topic)) == 5
    with pytest.raises(PySparkException, match="SinkOfAnotherQuery"):
        run(tmp_path / "second")
    assert len(values(broker.bootstrap_servers, topic)) == 5
