"""Batch and streaming queries as a user writes them, for our source and for Spark's own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, Row, SparkSession
    from pyspark.sql.streaming import StreamingQuery

    from headrace.testing import Broker

QUERY_SECONDS = 120.0


def batch(
    spark: SparkSession,
    broker: Broker,
    options: dict[str, str],
    *,
    source: str = "headrace",
    schema: str | None = None,
) -> DataFrame:
    reader = spark.read.format(source)
    if schema is not None:
        reader = reader.schema(schema)
    return reader.options(**_with_broker(broker, options)).load()


def stream(
    spark: SparkSession, broker: Broker, options: dict[str, str], *, source: str = "headrace"
) -> DataFrame:
    given = {"startingOffsets": "earliest", **options}
    return spark.readStream.format(source).options(**_with_broker(broker, given)).load()


def _with_broker(broker: Broker, options: dict[str, str]) -> dict[str, str]:
    return {"kafka.bootstrap.servers": broker.bootstrap_servers, **options}


def rows_in_order(frame: DataFrame) -> list[Row]:
    return sorted(frame.collect(), key=lambda row: (row.topic, row.partition, row.offset))


@dataclass
class Batches:
    """What a streaming query has put out: the rows of each micro-batch, by its number."""

    rows: dict[int, list[Row]] = field(default_factory=dict)

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        self.rows[batch_id] = frame.collect()

    def all(self) -> list[Row]:
        rows = [row for found in self.rows.values() for row in found]
        return sorted(rows, key=lambda row: (row.topic, row.partition, row.offset))

    def sizes(self) -> list[int]:
        return [len(self.rows[batch_id]) for batch_id in sorted(self.rows)]


def start(frame: DataFrame, checkpoint: Path, batches: Batches, **trigger: Any) -> StreamingQuery:
    writer = frame.writeStream.foreachBatch(batches).option("checkpointLocation", str(checkpoint))
    return writer.trigger(**(trigger or {"processingTime": "100 milliseconds"})).start()


def run_available_now(
    frame: DataFrame, checkpoint: Path, batches: Batches | None = None
) -> tuple[Batches, list[Any]]:
    """Until everything is read that was there; the batches, and the progress of each."""
    batches = Batches() if batches is None else batches
    query = start(frame, checkpoint, batches, availableNow=True)
    try:
        assert query.awaitTermination(QUERY_SECONDS), "the query did not end"
    finally:
        query.stop()
    return batches, list(query.recentProgress)
