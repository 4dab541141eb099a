"""A Parquet job in a process of its own, made to be killed.

    python parquet_driver.py BOOTSTRAP TOPIC TARGET TABLE CHECKPOINT OFFSETS_PER_BATCH

It prints a line when it has started and one for each batch, and ends when the topic's end at its
start is in the table.
"""

from __future__ import annotations

import os
import sys

from headrace.pipeline.parquet import ParquetProgress, ParquetSettings, run_parquet
from headrace.pipeline.session import spark_session

STARTED = "started"
BATCH = "batch"


def say(progress: ParquetProgress) -> None:
    print(f"{BATCH} {progress.batch_id} {progress.rows}", flush=True)


def main(
    bootstrap: str, topic: str, target: str, table: str, checkpoint: str, batch_size: str
) -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = spark_session("parquet-driver", "local[2,4]", {"spark.driver.memory": "1g"})
    settings = ParquetSettings(
        job="lake",
        source={
            "kafka.bootstrap.servers": bootstrap,
            "subscribe": topic,
            "maxOffsetsPerTrigger": batch_size,
            "kafka.default.api.timeout.ms": "5000",
        },
        target=target,
        table=table,
        checkpoint=checkpoint,
        compact_batches=4,
    )
    print(STARTED, flush=True)
    run_parquet(spark, settings, on_progress=say)


if __name__ == "__main__":
    main(*sys.argv[1:])
