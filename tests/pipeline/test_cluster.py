"""A cluster of two workers, and the broker's files in an object store that only they can reach.

``headrace.read.path=storage`` forbids the other way, through the broker: what is in the output came
out of the store. Executors get the package with the job; they have nothing of it themselves.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("obstore")

import duckdb
import pyarrow as pa
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from headrace.pipeline.jobs.toml_text import to_toml
from tests.interop.broker_process import BrokerProcess

from .committed import committed
from .object_store import StoredDirectory, directory_as_object_store
from .spark_cluster import SPARK_SETTINGS, WORKERS, SparkCluster, spark_cluster
from .topics import unique_name

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TEST_SECONDS_MAX = 1_200  # with the start of the cluster, on a machine with other things to do
pytestmark = [pytest.mark.slow, pytest.mark.timeout(TEST_SECONDS_MAX)]

PARTITIONS = 4
RECORDS = 20_000
CALL_SECONDS = 30.0
JOB_SECONDS_MAX = 550.0
FUNCTION = """
from headrace.pipeline.functions import Record, function


@function(source="any", sink="other")
def louder(record: Record) -> bytes:
    return record.value.upper()
"""


class Site(NamedTuple):
    """All that runs beside a job."""

    broker: BrokerProcess
    store: StoredDirectory
    cluster: SparkCluster

    @property
    def directory_url(self) -> str:
        """The same files, through obstore as well, but from the disk."""
        return f"obstore+file://{self.broker.directory}"

    def new_topic(self) -> str:
        name = unique_name("t")
        client = AdminClient({"bootstrap.servers": self.broker.bootstrap_servers})
        client.create_topics([NewTopic(name, PARTITIONS)])[name].result(CALL_SECONDS)
        return name

    def filled_topic(self) -> str:
        topic = self.new_topic()
        producer = Producer({"bootstrap.servers": self.broker.bootstrap_servers, "linger.ms": 5})
        for number in range(RECORDS):
            producer.produce(topic, b"value-%d" % number, partition=number % PARTITIONS)
        assert producer.flush(CALL_SECONDS) == 0
        return topic


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    directory = tmp_path_factory.mktemp("site")
    with (
        BrokerProcess(directory / "data") as broker,
        directory_as_object_store(broker.directory) as store,
        spark_cluster(directory, store.environment) as cluster,
    ):
        yield Site(broker, store, cluster)


class Job(NamedTuple):
    """One definition in a file, and the two ways to run it on the cluster."""

    site: Site
    directory: Path

    def write(
        self, kind: str, topic: str, storage_url: str, sink: dict[str, Any], **more: Any
    ) -> None:
        tables = {
            "job": {"name": f"{kind}-{topic}", "kind": kind, "checkpoint": "checkpoint"},
            "source": {"topic": topic, "bootstrap": self.site.broker.bootstrap_servers},
            "source.options": {
                "headrace.read.path": "storage",
                "headrace.storage.url": storage_url,
                "minPartitions": str(PARTITIONS),
            },
            "sink": {"trigger": "available-now", **sink},
            "spark": SPARK_SETTINGS,
            **more,
        }
        (self.directory / "job.toml").write_text(to_toml(tables))

    def run(self) -> dict[str, Any]:
        """``headrace pipeline run``: its supervisor and its state are on this machine."""
        return dict(json.loads(self._headrace("run", "--json")))

    def submit(self) -> None:
        """``headrace pipeline submit``: by Spark's own program."""
        self._headrace("submit", "--files", str(self.directory / "submission"))

    def _headrace(self, verb: str, *arguments: str) -> str:
        self.site.cluster.forget()
        self.site.store.segment_reads.clear()
        command = [sys.executable, "-m", "headrace", "pipeline", verb, "job.toml"]
        environment = {
            **os.environ,
            "HEADRACE_STATE": str(self.directory / "state"),
            "SPARK_LOCAL_IP": "127.0.0.1",
        }
        done = subprocess.run(
            [*command, "--master", self.site.cluster.master_url, *arguments],
            cwd=self.directory,
            env=environment,
            capture_output=True,
            text=True,
            timeout=JOB_SECONDS_MAX,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture
def job(site: Site, tmp_path: Path) -> Job:
    return Job(site, tmp_path)


def assert_every_offset_once(table: Path) -> None:
    found = duckdb.execute(
        'SELECT "partition", count(*), count(DISTINCT "offset"), min("offset"), max("offset") '
        f"FROM read_parquet('{table}/**/*.parquet') GROUP BY ALL ORDER BY ALL"
    ).fetchall()
    each = RECORDS // PARTITIONS
    assert found == [(partition, each, each, 0, each - 1) for partition in range(PARTITIONS)]


def assert_every_value_once(bootstrap: str, topic: str) -> None:
    values = [each.value() for each in committed(bootstrap, topic)]
    connection = duckdb.connect()
    connection.register("found", pa.table({"text": [str(each, "ascii") for each in values]}))
    query = "SELECT count(*), count(DISTINCT text), count(*) FILTER (text = upper(text)) FROM found"
    assert connection.execute(query).fetchone() == (RECORDS, RECORDS, RECORDS)


def write_parquet_job(job: Job, storage_url: str) -> Path:
    table = job.directory / "table"
    job.write("parquet", job.site.filled_topic(), storage_url, {"format": "plain", "path": "table"})
    return table


def write_function_job(job: Job, storage_url: str) -> str:
    (job.directory / "loud.py").write_text(FUNCTION)
    target = job.site.new_topic()
    sink = {"format": "headrace", "topic": target}
    transform = {"python": "loud:louder", "files": ["loud.py"]}
    job.write("function", job.site.filled_topic(), storage_url, sink, transform=transform)
    return target


def test_parquet_job_on_a_cluster(job: Job) -> None:
    table = write_parquet_job(job, job.site.store.url)
    assert job.run()["state"] == "done"
    assert_every_offset_once(table)
    assert job.site.store.segment_reads
    assert job.site.cluster.busy_workers() == WORKERS


def test_function_job_on_a_cluster(job: Job) -> None:
    target = write_function_job(job, job.site.store.url)
    assert job.run()["state"] == "done"
    assert_every_value_once(job.site.broker.bootstrap_servers, target)
    assert job.site.store.segment_reads
    assert job.site.cluster.busy_workers() == WORKERS


def test_parquet_job_by_spark_submit(job: Job) -> None:
    table = write_parquet_job(job, job.site.directory_url)
    job.submit()
    assert_every_offset_once(table)
    assert job.site.cluster.busy_workers() == WORKERS


def test_function_job_by_spark_submit(job: Job) -> None:
    target = write_function_job(job, job.site.store.url)
    job.submit()
    assert_every_value_once(job.site.broker.bootstrap_servers, target)
    assert job.site.store.segment_reads
    assert job.site.cluster.busy_workers() == WORKERS
