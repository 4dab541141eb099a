"""A Spark driver that brings topics to Parquet files, one after the other, as it is told.

    python -m bench.lake.driver '{"reader": "engine", "bootstrap_servers": ..., ...}'

Each line of input is a job; the answer is the time it took, in a session that stays. Whoever wants
it warm gives it small jobs first.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import TYPE_CHECKING

from bench.lake.orders import ANSWER, HEAP, MASTER, DriverSettings, Job
from headrace.pipeline.parquet import ParquetSettings, run_parquet
from headrace.pipeline.session import spark_session
from headrace.pipeline.tables.plain import files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def session_of(settings: DriverSettings) -> SparkSession:
    own = {
        "spark.driver.memory": HEAP,
        "spark.local.dir": settings.directory,
        "spark.sql.warehouse.dir": os.path.join(settings.directory, "warehouse"),
    }
    if settings.jars:
        own["spark.jars"] = ",".join(settings.jars)
    spark = spark_session("headrace-bench-lake", MASTER, own)
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def by_engine(spark: SparkSession, settings: DriverSettings, job: Job) -> None:
    """The same columns as Spark's sources have, in no directories by date, as they write none."""
    parquet = ParquetSettings(
        job=f"bench-{job.topic}",
        source={
            "kafka.bootstrap.servers": settings.bootstrap_servers,
            "subscribe": job.topic,
            "includeHeaders": "false",
            "headrace.read.path": "storage",
        },
        target=job.target,
        table="plain",
        decoding={"format": "raw"},
        partition_by="none",
        options={"compression": settings.parquet_codec},
    )
    run_parquet(spark, parquet)


def by_source(spark: SparkSession, settings: DriverSettings, job: Job) -> None:
    """Any source of Spark's, into its own Parquet writer."""
    frame = SOURCES.get(settings.reader, from_topic)(spark, settings, job)
    frame.write.option("compression", settings.parquet_codec).parquet(job.target)


def from_topic(spark: SparkSession, settings: DriverSettings, job: Job) -> DataFrame:
    options = {"kafka.bootstrap.servers": settings.bootstrap_servers, "subscribe": job.topic}
    if settings.reader == "headrace":
        options["headrace.read.path"] = "storage"
    return spark.read.format(settings.reader).options(**options).load()


def from_nowhere(spark: SparkSession, _: DriverSettings, job: Job) -> DataFrame:
    """Batches that are there already: see `bench.lake.source_ceiling`."""
    from bench.lake.ready_batches import FORMAT, ReadyBatches

    spark.dataSource.register(ReadyBatches)
    options = {
        "records": str(job.records),
        "partitions": str(job.partitions),
        "valueBytes": str(job.value_bytes),
    }
    return spark.read.format(FORMAT).options(**options).load()


def from_parquet(spark: SparkSession, settings: DriverSettings, job: Job) -> DataFrame:
    """The same columns, by Spark's own reader, from what the engine has made of the topic."""
    frame = spark.read.parquet(*files(os.path.join(settings.inputs, job.topic)))
    names = "key value topic partition offset timestamp timestamp_type"
    return frame.select(*names.split())


SOURCES = {"ready": from_nowhere, "parquet": from_parquet}


def seconds_of(spark: SparkSession, settings: DriverSettings, job: Job) -> float:
    """From the order to the last file in its place, planning and commit included."""
    move = by_engine if settings.reader == "engine" else by_source
    started = time.perf_counter()
    move(spark, settings, job)
    return time.perf_counter() - started


def answer(values: dict[str, float]) -> None:
    print(ANSWER + json.dumps(values), flush=True)


def main() -> None:
    values = json.loads(sys.argv[1])
    settings = DriverSettings(**{**values, "jars": tuple(values["jars"])})
    started = time.perf_counter()
    spark = session_of(settings)
    try:
        answer({"seconds": time.perf_counter() - started})
        for line in sys.stdin:
            answer({"seconds": seconds_of(spark, settings, Job(**json.loads(line)))})
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
