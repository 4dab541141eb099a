"""``format("headrace")``: the door through which Spark comes in, to read and to write.

Readers travel from process to process: planned in one, read in many. They hold options only; the
connection to the broker is made where it is needed. There is no ``pushFilters``: Spark 4.3 gives
wrong answers with it.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)

from headrace.pipeline.broker_view import BrokerView
from headrace.pipeline.reading import ReadSettings, read_range
from headrace.pipeline.source.batch_planning import plan_batch
from headrace.pipeline.source.options import SourceOptions, parse_options, wants_headers
from headrace.pipeline.source.questions import Questions
from headrace.pipeline.source.rows import (
    SCHEMA,
    SCHEMA_WITH_HEADERS,
    kernel_columns,
    raise_if_unsuitable,
    spark_batches,
)
from headrace.pipeline.source.stream_offset import StreamOffset
from headrace.pipeline.source.stream_planning import StreamPlanner
from headrace.pipeline.worker_garbage import spare_what_is_loaded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import pyarrow as pa
    from pyspark.sql.datasource import DataSourceStreamWriter, DataSourceWriter
    from pyspark.sql.types import StructType

    from headrace.pipeline.ranges import OffsetRange


class HeadraceDataSource(DataSource):
    """Topics as tables: options and columns of Spark's Kafka source and sink."""

    @classmethod
    def name(cls) -> str:
        return "headrace"

    def schema(self) -> StructType:
        return SCHEMA_WITH_HEADERS if wants_headers(self.options) else SCHEMA

    def reader(self, schema: StructType) -> DataSourceReader:
        return HeadraceReader(parse_options(self.options, is_streaming=False), schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return HeadraceStreamReader(parse_options(self.options, is_streaming=True), schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        from headrace.pipeline.sink import make_writer

        return make_writer(self.options, schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        from headrace.pipeline.sink import make_stream_writer

        return make_stream_writer(self.options, schema, overwrite)


class RangePartition(InputPartition):
    """One task: a range of offsets, and the id of the topic whose offsets these are."""

    def __init__(self, part: OffsetRange, topic_id: str = "") -> None:
        super().__init__(part)
        self.part = part
        self.topic_id = topic_id


class HeadraceReader(DataSourceReader):
    """A batch query."""

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        raise_if_unsuitable(schema)
        self._options = options
        self._schema = schema

    def partitions(self) -> list[InputPartition]:
        questions = Questions(BrokerView(self._options.kafka), self._options)
        try:
            # Before all else: should a topic be made anew meanwhile, its tasks will notice.
            ids = questions.topic_ids({partition.topic for partition in questions.selected()})
            return _partitions(plan_batch(self._options, questions), ids)
        finally:
            questions.close()

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, RangePartition):  # Spark makes one up if there are none
            return iter(())
        return _read(partition, self._options, self._schema)


class HeadraceStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A streaming query: Spark keeps one of these, in a process of its own, to plan with."""

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        raise_if_unsuitable(schema)
        self._options = options
        self._schema = schema
        self._planner: StreamPlanner | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_planner": None}

    def initialOffset(self) -> dict[str, Any]:
        return self._planning().initial().to_json()

    def getDefaultReadLimit(self) -> ReadLimit:
        """Spark knows one limit only; ``latestOffset`` applies what the options say in full."""
        if self._options.max_offsets_per_trigger is not None:
            return ReadMaxRows(self._options.max_offsets_per_trigger)
        if self._options.min_offsets_per_trigger is not None:
            return ReadMinRows(self._options.min_offsets_per_trigger)
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        self._planning().stop_at_what_is_there()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        is_limited = not isinstance(limit, ReadAllAvailable)
        offset = self._planning().latest(StreamOffset.from_json(start), is_limited=is_limited)
        return offset.to_json()

    def reportLatestOffset(self) -> dict[str, Any] | None:
        seen = self._planning().last_seen()
        return None if seen is None else seen.to_json()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        offset = StreamOffset.from_json(end)
        ranges = self._planning().ranges(StreamOffset.from_json(start), offset)
        return _partitions(ranges, offset.topic_ids)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, RangePartition)
        return _read(partition, self._options, self._schema)

    def commit(self, end: dict[str, Any]) -> None:
        """Nothing to tell the broker: the checkpoint is the only truth."""

    def stop(self) -> None:
        planner, self._planner = self._planner, None
        if planner is not None:
            planner.close()

    def _planning(self) -> StreamPlanner:
        if self._planner is None:
            questions = Questions(BrokerView(self._options.kafka), self._options)
            self._planner = StreamPlanner(self._options, questions, _steady_ms)
        return self._planner


def _partitions(
    ranges: Iterable[OffsetRange], topic_ids: Mapping[str, str]
) -> list[InputPartition]:
    return [RangePartition(part, topic_ids.get(part.topic, "")) for part in ranges]


def _read(
    partition: RangePartition, options: SourceOptions, schema: StructType
) -> Iterator[pa.RecordBatch]:
    part = partition.part
    settings = ReadSettings(
        kafka=options.kafka,
        path=options.read_path,
        storage_url=options.storage_url,
        is_committed=options.is_committed,
        columns=kernel_columns(schema),
        fail_on_data_loss=options.fail_on_data_loss,
        batch_rows_max=options.batch_rows_max,
        batch_bytes_max=options.batch_bytes_max,
        topic_ids={part.topic: partition.topic_id},
    )
    yield from spark_batches(
        read_range(part, settings), part, schema, fail_on_data_loss=options.fail_on_data_loss
    )
    spare_what_is_loaded()


def _steady_ms() -> int:
    return time.monotonic_ns() // 1_000_000
