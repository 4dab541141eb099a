"""Jobs with a real Spark and a real broker: each kind to its end, and again without repeating."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark")

import duckdb

from headrace.pipeline.errors import ForeignCheckpoint
from headrace.pipeline.jobs.definition import parse_definition
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

    def definition(self, kind: str, sink: dict[str, Any], **transform: str) -> JobDefinition:
        tables = {
            "job": {"name": f"job-{self.topic}", "kind": kind},
            "source": {"topic": self.topic, "bootstrap": self.broker.bootstrap_servers},
            "transform": transform,
            "sink": {"trigger": "available-now", **sink},
        }
        return parse_definition(to_toml(tables))

    def run(self, definition: JobDefinition) -> None:
        checkpoint = str(self.directory / "checkpoint")
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
