"""Jobs with a real Spark and a real broker: each kind to its end, and again without repeating."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

import duckdb

from headrace.pipeline.errors import (
    BrokerUnreachable,
    ForeignCheckpoint,
    TargetInUse,
    TargetNotWritable,
    TopicMissing,
)
from headrace.pipeline.jobs.definition import parse_definition
from headrace.pipeline.jobs.errors import InvalidDefinition
from headrace.pipeline.jobs.fault import fault_of
from headrace.pipeline.jobs.run import JobContext, run_job
from headrace.pipeline.jobs.toml_text import to_toml
from headrace.pipeline.tables import open_table

from .committed import values
from .topics import new_topic, producer, unique_name

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from headrace.pipeline.jobs.definition import JobDefinition
    from headrace.pipeline.jobs.progress import JobProgress
    from headrace.testing import Broker

RECORDS = 200
CALL_SECONDS = 30.0


class Jobs:
    """Makes jobs over one topic of two partitions, and runs them in the session of the tests."""

    def __init__(self, spark: SparkSession, broker: Broker, directory: Path) -> None:
        self._spark = spark
        self.broker = broker
        self.directory = directory
        self.topic = new_topic(broker)
        self.told: list[JobProgress] = []

    def produce(self, count: int = RECORDS) -> None:
        made = producer(self.broker)
        for number in range(count):
            made.produce(self.topic, b"value-%d" % number, b"%d" % number, partition=number % 2)
        assert made.flush(CALL_SECONDS) == 0

    def definition(
        self, kind: str, sink: dict[str, Any], *, name: str = "", **transform: str
    ) -> JobDefinition:
        tables = {
            "job": {"name": name or f"job-{self.topic}", "kind": kind},
            "source": {"topic": self.topic, "bootstrap": self.broker.bootstrap_servers},
            "transform": transform,
            "sink": {"trigger": "available-now", **sink},
        }
        return parse_definition(to_toml(tables))

    def run(self, definition: JobDefinition, checkpoint_name: str = "checkpoint") -> None:
        checkpoint = str(self.directory / checkpoint_name)
        run_job(
            JobContext(
                self._spark,
                definition,
                checkpoint,
                self.told.append,
                lambda: definition.follows and bool(self.told),
            )
        )

    def query(self, table: str, text: str, by: str = "hour") -> Any:
        with open_table(table, str(self.directory / "table"), partition_by=by) as opened:
            files = opened.files()
        connection = duckdb.connect()
        connection.read_parquet(files, hive_partitioning=False).create_view("found")
        return connection.execute(text).fetchall()


@pytest.fixture
def jobs(spark: SparkSession, broker: Broker, tmp_path: Path) -> Jobs:
    return Jobs(spark, broker, tmp_path)


@pytest.mark.parametrize("table", ["plain", "delta", "iceberg"])
def test_parquet_job_goes_on_where_it_was(jobs: Jobs, table: str) -> None:
    sink = {"format": table, "path": str(jobs.directory / "table")}
    for round_ in (1, 2):
        jobs.produce()
        jobs.told.clear()
        jobs.run(jobs.definition("parquet", sink))
        found = jobs.query(table, 'SELECT partition, "offset" FROM found ORDER BY ALL')
        half = RECORDS // 2 * round_
        assert found == [(partition, offset) for partition in (0, 1) for offset in range(half)]
        assert sum(each.rows for each in jobs.told) == RECORDS
        assert jobs.told[-1].lag_records == 0


def test_query_into_a_table_writes_each_batch_once(jobs: Jobs) -> None:
    sink = {"format": "plain", "path": str(jobs.directory / "table")}
    sql = 'SELECT partition, "offset" AS place, CAST(value AS STRING) AS text FROM source'
    sql = f'{sql} WHERE "offset" % 2 = 1'.replace('"', "`")
    for round_ in (1, 2):
        jobs.produce()
        jobs.told.clear()
        jobs.run(jobs.definition("sql", sink, sql=sql))
        found = jobs.query("plain", "SELECT partition, place FROM found ORDER BY ALL", "none")
        half = RECORDS // 2 * round_
        assert found == [(partition, odd) for partition in (0, 1) for odd in range(1, half, 2)]
        assert jobs.told[-1].positions == {jobs.topic: {"0": half, "1": half}}
        assert sum(each.files for each in jobs.told) > 0


@pytest.mark.parametrize(
    ("kind", "transform", "expected"),
    [
        ("sql", {"python": "tests.pipeline.transforms:even"}, RECORDS // 2),
        ("function", {"python": "tests.pipeline.transforms:louder"}, RECORDS),
    ],
)
def test_transform_from_topic_to_topic(
    jobs: Jobs, kind: str, transform: dict[str, str], expected: int
) -> None:
    target = jobs.broker.create_topic(unique_name("target"), 1)
    jobs.produce()
    definition = jobs.definition(kind, {"format": "headrace", "topic": target}, **transform)
    jobs.run(definition)
    found = values(jobs.broker.bootstrap_servers, target)
    assert len(found) == len(set(found)) == expected
    if kind == "function":
        assert set(found) == {b"VALUE-%d" % number for number in range(RECORDS)}


def test_job_that_follows_ends_when_it_is_told(jobs: Jobs) -> None:
    """``should_stop`` holds after the first batch."""
    jobs.produce()
    sink = {"format": "plain", "path": str(jobs.directory / "table"), "trigger": "100 ms"}
    jobs.run(jobs.definition("parquet", sink))
    assert sum(each.rows for each in jobs.told) == RECORDS


def test_checkpoint_of_another_target_is_refused(jobs: Jobs) -> None:
    jobs.produce()
    jobs.run(jobs.definition("parquet", {"format": "plain", "path": str(jobs.directory / "table")}))
    other = jobs.definition("parquet", {"format": "plain", "path": str(jobs.directory / "other")})
    with pytest.raises(ForeignCheckpoint, match="belongs to target"):
        jobs.run(other)


def test_checkpoint_of_another_topic_is_refused(jobs: Jobs) -> None:
    sink = {"format": "plain", "path": str(jobs.directory / "table")}
    jobs.produce()
    jobs.run(jobs.definition("parquet", sink))
    jobs.topic = new_topic(jobs.broker)
    with pytest.raises(ForeignCheckpoint, match="belongs to topics"):
        jobs.run(jobs.definition("parquet", sink))


def test_second_job_on_a_table_is_refused(jobs: Jobs) -> None:
    sink = {"format": "plain", "path": str(jobs.directory / "table")}
    jobs.produce()
    jobs.run(jobs.definition("parquet", sink))
    second = jobs.definition("parquet", sink, name="second")
    with pytest.raises(TargetInUse, match=r"give job 'second' another target.*takeover=true"):
        jobs.run(second, "another checkpoint")


def test_table_of_a_lost_checkpoint_is_refused(jobs: Jobs) -> None:
    """Numbers of batches begin anew with a new checkpoint: they must not pass for known ones."""
    sink = {"format": "plain", "path": str(jobs.directory / "table")}
    definition = jobs.definition("sql", sink, sql="SELECT `offset` AS place FROM source")
    jobs.produce()
    jobs.run(definition)
    jobs.produce()
    with pytest.raises(Exception, match="from another checkpoint") as raised:
        jobs.run(definition, "another checkpoint")
    fault = fault_of(raised.value)
    assert "another checkpoint, which was deleted or is elsewhere; bring it back" in fault.message
    assert not fault.can_retry


@pytest.mark.parametrize("kind", ["parquet", "sql"])
def test_topic_that_is_missing_ends_a_job(jobs: Jobs, kind: str) -> None:
    jobs.topic = unique_name("missing")
    sink = {"format": "plain", "path": str(jobs.directory / "table")}
    transform = {"sql": "SELECT value FROM source"} if kind == "sql" else {}
    with pytest.raises(Exception, match=jobs.topic) as raised:
        jobs.run(jobs.definition(kind, sink, **transform))
    fault = fault_of(raised.value)
    assert jobs.topic in fault.message
    assert not fault.can_retry
    assert kind == "sql" or isinstance(raised.value, TopicMissing)


def test_target_that_cannot_be_written_ends_a_job(jobs: Jobs) -> None:
    jobs.produce()
    (jobs.directory / "file").write_text("")
    sink = {"format": "plain", "path": str(jobs.directory / "file" / "table")}
    with pytest.raises(TargetNotWritable, match="cannot write to"):
        jobs.run(jobs.definition("parquet", sink))


def test_query_that_makes_no_sense_ends_a_job(jobs: Jobs) -> None:
    sink = {"format": "plain", "path": str(jobs.directory / "table")}
    with pytest.raises(InvalidDefinition, match=r"Spark refuses the query: .*no_such_column"):
        jobs.run(jobs.definition("sql", sink, sql="SELECT no_such_column FROM source"))


def test_broker_that_is_gone_may_come_back(jobs: Jobs) -> None:
    """Before anything else: without an answer nobody knows whose checkpoint it is."""
    sink = {"format": "plain", "path": str(jobs.directory / "table")}
    definition = jobs.definition("parquet", sink)
    options = {"kafka.default.api.timeout.ms": "1000"}
    source = replace(definition.source, bootstrap="127.0.0.1:1", options=options)
    with pytest.raises(BrokerUnreachable) as raised:
        jobs.run(replace(definition, source=source))
    assert raised.value.retriable
