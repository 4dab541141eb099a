"""Builds the Spark query of a function: headrace source, function, exactly-once sink."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headrace.pipeline.functions.applying import OUTPUT_SPARK_SCHEMA, apply
from headrace.pipeline.functions.definition import StreamFunction
from headrace.pipeline.functions.errors import InvalidFunction
from headrace.pipeline.functions.lookup import open_tables

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from headrace.pipeline.functions.definition import Job, WindowedCount

FORMAT = "headrace"
KAFKA_PREFIX = "kafka."
SOURCE_DEFAULTS = {
    "startingOffsets": "earliest",
    "includeHeaders": "true",
    # What another function wrote and took back was never there: else one kill of that function is a
    # duplicate in the output of this one.
    "kafka.isolation.level": "read_committed",
}


class RunSettings(NamedTuple):
    """``kafka``: client settings without prefix. ``source`` and ``sink``: further options.

    With ``interval`` (``5 seconds``) a batch is begun that often, without it when the last one is
    done; with ``is_bounded`` the job ends at what is there when it starts.
    """

    kafka: Mapping[str, str]
    checkpoint: str
    source: Mapping[str, str] = {}
    sink: Mapping[str, str] = {}
    interval: str | None = None
    is_bounded: bool = False


def start(spark: SparkSession, job: Job, settings: RunSettings) -> StreamingQuery:
    """Start the job. After a stop or a crash the same checkpoint takes it up where it was."""
    kafka = {KAFKA_PREFIX + name: value for name, value in settings.kafka.items()}
    reader = spark.readStream.format(FORMAT).options(**SOURCE_DEFAULTS).options(**kafka)
    records = reader.options(subscribe=job.source).options(**settings.source).load()
    writer = (
        build(records, job, settings.kafka)
        .writeStream.format(FORMAT)
        .queryName(job.name)
        .outputMode("append")
        .options(**kafka, checkpointLocation=settings.checkpoint)
        .options(**settings.sink)
    )
    if settings.is_bounded:
        writer = writer.trigger(availableNow=True)
    elif settings.interval is not None:
        writer = writer.trigger(processingTime=settings.interval)
    return writer.start()


def build(records: DataFrame, job: Job, kafka: Mapping[str, str]) -> DataFrame:
    """From the rows of the source to the rows of the sink."""
    if isinstance(job, StreamFunction):
        return _mapped(records, job, kafka)
    from pyspark.errors import PySparkException

    try:
        return _counted(records, job)
    except PySparkException as error:
        raise InvalidFunction(f"{job.name}: {error}") from error


def _mapped(records: DataFrame, job: StreamFunction, kafka: Mapping[str, str]) -> DataFrame:
    settings = dict(kafka)

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return apply(job, open_tables(job.tables, settings), batches)

    return records.mapInArrow(run, OUTPUT_SPARK_SCHEMA)


def _counted(records: DataFrame, job: WindowedCount) -> DataFrame:
    from pyspark.sql import functions as sql
    from pyspark.sql.types import BinaryType

    windows = sql.window("timestamp", job.window, job.slide)
    counts = (
        records.withWatermark("timestamp", job.watermark)
        .groupBy(windows.alias("window"), sql.expr(job.by).alias("key"))
        .count()
    )
    key = sql.col("key")
    if not isinstance(counts.schema["key"].dataType, BinaryType):
        key = key.cast("string").cast("binary")
    result = sql.struct(
        sql.unix_millis("window.start").alias("start_ms"),
        sql.unix_millis("window.end").alias("end_ms"),
        sql.col("count"),
    )
    return counts.select(
        sql.lit(job.sink).alias("topic"),
        key.alias("key"),
        sql.to_json(result).alias("value"),
    )
