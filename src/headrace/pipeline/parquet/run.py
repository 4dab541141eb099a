"""The two ways to run: until what is there now is in the table, or until told to stop."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from headrace.model.errors import InvalidConfig
from headrace.pipeline.broker_view import BrokerView
from headrace.pipeline.decoding.spec import spec_from_options
from headrace.pipeline.parquet.errors import TaskFailed
from headrace.pipeline.parquet.job import ParquetJob
from headrace.pipeline.parquet.preparing import read_settings, source_options, spec_for_table
from headrace.pipeline.parquet.runner import Runner
from headrace.pipeline.parquet.write_task import run_task
from headrace.pipeline.source.questions import Questions
from headrace.pipeline.source.stream_planning import StreamPlanner
from headrace.pipeline.tables import open_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.sql import SparkSession

    from headrace.pipeline.parquet.progress import ParquetReport
    from headrace.pipeline.parquet.runner import OnProgress
    from headrace.pipeline.parquet.settings import ParquetSettings
    from headrace.pipeline.parquet.tasks import TaskResult, TaskWork
    from headrace.pipeline.tables.table import Table

DRIVER_API_TIMEOUT_MS = "10000"
"""How long the driver asks a broker that does not answer, so that it can be stopped meanwhile."""


def run_parquet(
    spark: SparkSession, settings: ParquetSettings, *, on_progress: OnProgress | None = None
) -> ParquetReport:
    """Bring everything that is in the topics at this moment into the table."""
    with _open(spark, settings) as (job, planner, table):
        planner.stop_at_what_is_there()
        return Runner(settings, job, table, on_progress).until_empty()


def stream_parquet(
    spark: SparkSession,
    settings: ParquetSettings,
    *,
    on_progress: OnProgress | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> ParquetReport:
    """Follow the topics until ``should_stop``; a batch that has begun is brought to its end."""
    with _open(spark, settings) as (job, _planner, table):
        return Runner(settings, job, table, on_progress, should_stop).until_stopped()


@contextmanager
def _open(
    spark: SparkSession, settings: ParquetSettings
) -> Iterator[tuple[ParquetJob, StreamPlanner, Table]]:
    options = source_options(settings)
    spec = spec_from_options(settings.decoding)
    slots = _slots(spark)
    table = open_table(
        settings.table,
        settings.target,
        partition_by=settings.partition_by,
        options=settings.options,
    )
    with table:
        view = BrokerView({"default.api.timeout.ms": DRIVER_API_TIMEOUT_MS, **options.kafka})
        planner = StreamPlanner(options, Questions(view, options), _now_ms)
        try:
            job = ParquetJob(
                settings,
                options,
                read_settings(settings, options),
                spec_for_table(spec, table),
                table,
                planner,
                lambda work: run_on_spark(spark, work, settings.job),
                slots,
            )
            yield job, planner, table
        finally:
            planner.close()


def _slots(spark: SparkSession) -> int:
    """How many tasks run at a time."""
    if not hasattr(spark, "_jsparkSession"):
        raise InvalidConfig("the engine needs a session of Spark itself, not of Spark Connect")
    return spark.sparkContext.defaultParallelism


def run_on_spark(spark: SparkSession, work: Sequence[TaskWork], job: str) -> list[TaskResult]:
    """One task each. Spark runs those again whose workers die."""
    from py4j.protocol import Py4JJavaError

    context = spark.sparkContext
    context.setJobDescription(f"headrace parquet {job}")
    try:
        return context.parallelize(work, len(work)).map(run_task).collect()
    except Py4JJavaError as error:
        lines = str(error.java_exception.getMessage()).strip().splitlines()
        raise TaskFailed(f"Spark gave up on a task: {lines[0] if lines else error}") from error


def _now_ms() -> int:
    return time.monotonic_ns() // 1_000_000
