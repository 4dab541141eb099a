"""A job in a process of its own, made to be killed: `python -m soak.pipeline.driver WORK`.

It says when it has started and where it stands after each batch, and ends cleanly by SIGTERM. What
it leaves when it dies is the job's checkpoint and output, and nothing else.
"""

from __future__ import annotations

import json
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any

from headrace.pipeline.functions import Record, RunSettings, function, start
from headrace.pipeline.jobs.priority import make_way
from headrace.pipeline.jobs.progress import from_query
from headrace.pipeline.parquet import ParquetSettings, stream_parquet
from headrace.pipeline.session import spark_session

from .work import BATCH, INPUT_TOPIC, MARK, STARTED, TOPIC, DriverWork

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from headrace.pipeline.parquet import ParquetProgress

JOB = "soak"
QUERY_SECONDS = 0.1
"""Between two looks at a query of Spark."""


def say(event: str, **values: Any) -> None:
    print(json.dumps({"event": event, **values}), flush=True)


def say_batch(batch_id: int, positions: Mapping[str, Mapping[Any, int]]) -> None:
    reached = {str(partition): offset for partition, offset in positions[INPUT_TOPIC].items()}
    say(BATCH, id=batch_id, positions=reached)


def follow_into_table(spark: SparkSession, work: DriverWork, stop: threading.Event) -> None:
    settings = ParquetSettings(
        job=JOB,
        source={
            "kafka.bootstrap.servers": work.bootstrap_servers,
            "subscribe": INPUT_TOPIC,
            **work.source,
        },
        target=work.target,
        table=work.job,
        trigger_seconds=work.trigger_seconds,
        compact_batches=work.compact_batches,
    )

    def on_progress(progress: ParquetProgress) -> None:
        say_batch(progress.batch_id, progress.positions)

    stream_parquet(spark, settings, on_progress=on_progress, should_stop=stop.is_set)


def follow_into_topic(spark: SparkSession, work: DriverWork, stop: threading.Event) -> None:
    job = function(source=INPUT_TOPIC, sink=work.target, name=JOB)(marked)
    settings = RunSettings(
        kafka={"bootstrap.servers": work.bootstrap_servers},
        checkpoint=work.checkpoint,
        source=work.source,
        # Through files, as larger batches go.
        sink={"headrace.staging.inline.bytes": "0"},
        interval=f"{round(1_000 * work.trigger_seconds)} milliseconds",
    )
    query: Any = start(spark, job, settings)  # its hints know only whole seconds
    seen = -1
    while not query.awaitTermination(QUERY_SECONDS) and not stop.is_set():  # raises its failure
        progress = query.lastProgress
        if progress is not None and progress["batchId"] != seen:
            seen = progress["batchId"]
            positions = from_query(progress).positions
            if INPUT_TOPIC in positions:
                say_batch(seen, positions)
    query.stop()


def marked(record: Record) -> bytes:
    return MARK.encode() + (record.value or b"")


def main(text: str) -> None:
    work = DriverWork.from_json(text)
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    spark = spark_session(JOB, make_way(work.master, work.niceness), work.spark)
    say(STARTED)
    try:
        (follow_into_topic if work.job == TOPIC else follow_into_table)(spark, work, stop)
    finally:
        spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
