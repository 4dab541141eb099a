"""A topic-to-topic job in a process of its own, made to be killed.

    python sink_driver.py BOOTSTRAP SOURCE SINK CHECKPOINT DELIVERY RECORDS_PER_BATCH

The value of every output record says which input record it was made of. The job ends when it has
seen all that was there at its start; it prints a line when it has started, and one per batch.
"""

from __future__ import annotations

import os
import sys
import time

from headrace.pipeline.session import spark_session

STARTED = "started"
POLL_SECONDS = 0.05


def main(
    bootstrap: str, source: str, sink: str, checkpoint: str, delivery: str, batch_size: str
) -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = spark_session(
        "sink-driver",
        "local[2,4]",
        {
            "spark.driver.memory": "1g",
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "3",
        },
    )
    rows = (
        spark.readStream.format("headrace")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", source)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", batch_size)
        .load()
        # A shuffle: which task gets which row, and in which order, is not the same in a replay.
        .repartition(3)
        .selectExpr("key", "concat(partition, '-', offset) AS value")
    )
    query = (
        rows.writeStream.format("headrace")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("topic", sink)
        .option("checkpointLocation", checkpoint)
        .option("headrace.delivery", delivery)
        # Through files, as larger batches go.
        .option("headrace.staging.inline.bytes", "0")
        .trigger(availableNow=True)
        .start()
    )
    print(STARTED, flush=True)
    seen = -1
    while query.isActive:
        progress = query.lastProgress
        if progress is not None and progress["batchId"] != seen:
            seen = progress["batchId"]
            print(f"batch {seen}", flush=True)
        time.sleep(POLL_SECONDS)
    failure = query.exception()
    if failure is not None:
        raise failure


if __name__ == "__main__":
    main(*sys.argv[1:])
