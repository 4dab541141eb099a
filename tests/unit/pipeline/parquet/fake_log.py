"""A topic without a broker: records in a map, read in small pieces; and a job over it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import duckdb
import pyarrow as pa

from headrace.pipeline.decoding.spec import spec_from_options
from headrace.pipeline.parquet.job import ParquetJob
from headrace.pipeline.parquet.preparing import read_settings, source_options, spec_for_table
from headrace.pipeline.parquet.settings import ParquetSettings
from headrace.pipeline.parquet.write_task import write_ranges
from headrace.pipeline.source.stream_planning import StreamPlanner
from headrace.records.column_schema import SCHEMA
from headrace.records.columns import BadBatch, Columns
from tests.unit.pipeline.source.fake_view import BROKER, FakeView, questions_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headrace.pipeline.parquet.tasks import TaskResult, TaskWork
    from headrace.pipeline.ranges import OffsetRange
    from headrace.pipeline.read_settings import ReadSettings
    from headrace.pipeline.tables.table import Table

TOPIC = "orders"
START_MS = 1_794_826_757_000  # 2026-11-16 10:59:17 UTC
PIECE_ROWS = 3


class Record(NamedTuple):
    value: bytes | None
    timestamp_ms: int = START_MS
    key: bytes | None = b"k"


class FakeLog:
    """Partitions are lists of records; a bad batch takes the place of its offsets."""

    def __init__(self, *partitions: Sequence[Record]) -> None:
        self.partitions = [list(records) for records in partitions]
        self.bad: list[tuple[int, BadBatch]] = []
        self.reads = 0

    def view(self) -> FakeView:
        return FakeView(
            {(TOPIC, number): (0, len(records)) for number, records in enumerate(self.partitions)}
        )

    def read(
        self, ranges: Sequence[OffsetRange], settings: ReadSettings
    ) -> Iterator[tuple[OffsetRange, Columns]]:
        for range_ in ranges:
            for columns in self._read(range_, settings):
                yield range_, columns

    def _read(self, range_: OffsetRange, settings: ReadSettings) -> Iterator[Columns]:
        self.reads += 1
        broken = [one for number, one in self.bad if number == range_.partition]
        if broken:
            nothing = pa.RecordBatch.from_pylist([], SCHEMA).select(list(settings.columns))
            yield Columns(nothing, broken, range_.start)
        for first in range(range_.start, range_.end, PIECE_ROWS):
            end = min(first + PIECE_ROWS, range_.end)
            offsets = [
                offset
                for offset in range(first, end)
                if not any(one.base_offset <= offset <= one.last_offset for one in broken)
            ]
            batch = self._batch(range_.partition, offsets)
            yield Columns(batch.select(list(settings.columns)), [], end)

    def _batch(self, partition: int, offsets: Sequence[int]) -> pa.RecordBatch:
        records = [self.partitions[partition][offset] for offset in offsets]
        return pa.RecordBatch.from_pydict(
            {
                "key": [record.key for record in records],
                "value": [record.value for record in records],
                "offset": offsets,
                "timestamp": [record.timestamp_ms * 1_000 for record in records],
                "timestamp_type": [0] * len(records),
                "headers": [None] * len(records),
            },
            schema=SCHEMA,
        )


def values(*texts: str | None) -> list[Record]:
    return [Record(None if text is None else text.encode()) for text in texts]


def settings_of(target: str, **changes: object) -> ParquetSettings:
    source = {**BROKER, "subscribe": TOPIC, **changes.pop("source", {})}  # type: ignore[dict-item]
    return ParquetSettings(job="lake", source=source, target=target, **changes)  # type: ignore[arg-type]


class Tasks:
    """Does the work of tasks here and now; ``faults`` are raised first, one per call."""

    def __init__(self, log: FakeLog) -> None:
        self._log = log
        self.faults: list[Exception] = []
        self.calls: list[list[TaskWork]] = []

    def __call__(self, work: Sequence[TaskWork]) -> list[TaskResult]:
        self.calls.append(list(work))
        if self.faults:
            raise self.faults.pop(0)
        return [write_ranges(one, self._log.read) for one in work]


def job_of(
    settings: ParquetSettings, table: Table, view: FakeView, tasks: Tasks
) -> tuple[ParquetJob, StreamPlanner]:
    options = source_options(settings)
    planner = StreamPlanner(options, questions_of(view, options), lambda: 0)
    spec = spec_for_table(spec_from_options(settings.decoding), table)
    read = read_settings(settings, options)
    return ParquetJob(settings, options, read, spec, table, planner, tasks, 2), planner


def query(files: Sequence[str], what: str, then: str = "") -> list[tuple[object, ...]]:
    """By DuckDB, not by our own reader."""
    source = f"read_parquet({list(files)}, union_by_name = true)"
    return duckdb.sql(f"select {what} from {source} {then}").fetchall()


def offsets_in(files: Sequence[str]) -> list[tuple[object, ...]]:
    return sorted(query(files, '"partition", "offset"'))


def all_offsets(log: FakeLog) -> list[tuple[int, int]]:
    return [
        (number, offset)
        for number, records in enumerate(log.partitions)
        for offset in range(len(records))
    ]
