"""One batch after the other: plan from what the table has, let tasks write, commit.

Nothing is remembered between batches that the table does not know. So a batch can fail at any point
and be planned again, and a driver that dies leaves nothing behind but files that no commit names.
"""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.pipeline.decoding.spec import make_decoder, with_reader_defaults
from headrace.pipeline.errors import ForeignCheckpoint, SchemaConflict
from headrace.pipeline.parquet.errors import TooManyFields
from headrace.pipeline.parquet.positions import from_map, to_map
from headrace.pipeline.parquet.progress import ParquetProgress
from headrace.pipeline.parquet.rows import row_schema
from headrace.pipeline.parquet.tasks import TaskWork, samples_of, share_out
from headrace.pipeline.source.bounds import EARLIEST, Everywhere
from headrace.pipeline.source.stream_offset import StreamOffset
from headrace.pipeline.tables.commit_rules import SourceIds
from headrace.pipeline.tables.data_file import DataFile
from headrace.pipeline.tables.file_options import ROW_GROUP_ROWS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow as pa

    from headrace.pipeline.decoding.spec import DecoderSpec
    from headrace.pipeline.parquet.settings import ParquetSettings
    from headrace.pipeline.parquet.tasks import TaskResult
    from headrace.pipeline.ranges import OffsetRange
    from headrace.pipeline.read_settings import ReadSettings
    from headrace.pipeline.source.options import SourceOptions
    from headrace.pipeline.source.positions import Positions
    from headrace.pipeline.source.stream_planning import StreamPlanner
    from headrace.pipeline.tables.table import Table

    RunTasks = Callable[[Sequence[TaskWork]], list[TaskResult]]

log = logging.getLogger(__name__)

WIDENINGS_MAX = 10
"""Times that one batch may be begun anew because of new fields; the second time is rare."""
BYTES_PER_RECORD_GUESS = 200
RECORDS_PER_FILE_MAX = 50_000_000


class ParquetJob:
    """``run_tasks`` has Spark (or a test) do the work; ``slots``: so many at a time."""

    def __init__(
        self,
        settings: ParquetSettings,
        options: SourceOptions,
        read: ReadSettings,
        spec: DecoderSpec,
        table: Table,
        planner: StreamPlanner,
        run_tasks: RunTasks,
        slots: int,
    ) -> None:
        self._settings = settings
        self._options = options
        self._read = read
        self._spec = spec
        self._table = table
        self._planner = planner
        self._run_tasks = run_tasks
        self._slots = slots
        self._position: StreamOffset | None = None
        self._batch_id = 0
        self._bytes_per_record: float = BYTES_PER_RECORD_GUESS

    def forget(self) -> None:
        """After a fault: what is true now, the table knows."""
        self._position = None

    def run_batch(self) -> ParquetProgress | None:
        """One batch, committed; None if there was nothing to do."""
        began = time.monotonic()
        if self._position is None:
            self._position = self._resume()
        start = self._position
        end = self._planner.latest(start, is_limited=True)
        ranges = self._planner.ranges(start, end) if end is not start else []
        if not ranges:
            self._position = end
            return None
        self._read = self._read._replace(topic_ids=end.topic_ids)
        results, schema = self._write(ranges)
        files = [DataFile.from_json(text) for result in results for text in result.files]
        parked = [DataFile.from_json(text) for result in results for text in result.parked]
        self._commit(files, parked, schema, end)
        self._learn(files)
        seen = self._planner.last_seen() or end
        return ParquetProgress(
            batch_id=self._batch_id - 1,
            rows=sum(file.rows for file in files),
            parked_rows=sum(file.rows for file in parked),
            files=len(files),
            size_bytes=sum(file.size_bytes for file in files),
            positions=to_map(end.positions),
            ends=to_map(seen.positions),
            seconds=time.monotonic() - began,
        )

    # --- where the job stands ---------------------------------------------------------------------

    def _resume(self) -> StreamOffset:
        job = self._settings.job
        committed = self._table.committed_batch(job)
        positions = from_map(self._table.committed_positions(job))
        self._batch_id = 0 if committed is None else committed + 1
        if committed is None:
            return self._begin(positions)
        self._table.claim(job)
        source = self._table.committed_source(job)
        return StreamOffset(positions, source.cluster_id, dict(source.topic_ids))

    def _begin(self, taken_over: Positions) -> StreamOffset:
        """Where the options say, but not before what those have left whose table it was."""
        initial = self._planner.initial()
        self._table.claim(self._settings.job)
        start = replace(
            initial,
            positions={
                partition: max(offset, taken_over.get(partition, 0))
                for partition, offset in initial.positions.items()
            },
        )
        if start != initial or self._options.starting != Everywhere(EARLIEST):
            # The same question would have another answer later: write down where it was.
            self._commit([], [], self._row_schema(), start)
        return start

    def _commit(
        self,
        files: Sequence[DataFile],
        parked: Sequence[DataFile],
        schema: pa.Schema,
        end: StreamOffset,
    ) -> None:
        is_new = self._table.commit(
            self._settings.job,
            self._batch_id,
            files,
            parked,
            schema,
            to_map(end.positions),
            SourceIds(end.cluster_id, end.topic_ids),
        )
        if not is_new:
            raise ForeignCheckpoint(
                f"batch {self._batch_id} of job {self._settings.job!r} is in {self._table.url} "
                "already: somebody else writes there under the same name"
            )
        self._batch_id += 1
        self._position = end

    # --- what the tasks do ------------------------------------------------------------------------

    def _write(self, ranges: Sequence[OffsetRange]) -> tuple[list[TaskResult], pa.Schema]:
        """Files of all ranges, after as many attempts as new fields make necessary."""
        self._spec = with_reader_defaults(self._spec, sorted({one.topic for one in ranges}))
        schema = self._row_schema()
        if self._spec.is_discovering and not len(self._spec.fields):
            samples = [(one,) for one in samples_of(ranges)]
            if self._widen(self._run(samples, schema, is_sample=True)):
                schema = self._row_schema()
        shares = self._shares(ranges)
        for _ in range(WIDENINGS_MAX):
            results = self._run(shares, schema)
            if not self._widen(results):
                _raise_if_unwritten(results)
                return results, schema
            self._discard(results)
            schema = self._row_schema()
        raise TooManyFields(
            f"the records of one batch had new fields {WIDENINGS_MAX} times in a row; "
            "keep their values as they are (format raw)"
        )

    def _shares(self, ranges: Sequence[OffsetRange]) -> list[tuple[OffsetRange, ...]]:
        if self._options.min_partitions or self._options.max_records_per_partition:
            return [(one,) for one in ranges]  # as the options want it
        records = int(self._settings.file_bytes_target / max(1.0, self._bytes_per_record))
        return share_out(
            ranges, self._slots, min(RECORDS_PER_FILE_MAX, max(ROW_GROUP_ROWS, records))
        )

    def _run(
        self,
        shares: Sequence[tuple[OffsetRange, ...]],
        schema: pa.Schema,
        *,
        is_sample: bool = False,
    ) -> list[TaskResult]:
        results = self._run_tasks(
            [
                TaskWork(ranges, self._read, self._spec, self._table.layout, schema, is_sample)
                for ranges in shares
            ]
        )
        failures = [result.failure for result in results if result.failure is not None]
        if failures:
            self._discard(results)
            # One that no second try can heal decides; the others may be there because of it.
            raise min(failures, key=lambda failure: failure.retriable)
        return results

    def _discard(self, results: Sequence[TaskResult]) -> None:
        """Files of tasks that did well, in a batch that is begun anew."""
        for result in results:
            files = (*result.files, *result.parked)
            self._table.layout.discard(*(DataFile.from_json(text).path for text in files))

    def _widen(self, results: Sequence[TaskResult]) -> bool:
        """True if tasks have found fields that the spec did not have."""
        found = [result.new_fields for result in results if result.new_fields is not None]
        wider = self._spec.with_fields(found)
        if wider.fields == self._spec.fields:
            return False
        new = [name for name in wider.fields.names if name not in self._spec.fields.names]
        log.info("new fields: %s", ", ".join(new) or "inside of known ones")
        self._spec = wider
        return True

    def _row_schema(self) -> pa.Schema:
        values = (
            self._spec.fields if self._spec.is_discovering else make_decoder(self._spec).schema()
        )
        return row_schema(values, has_headers="headers" in self._read.columns)

    def _learn(self, files: Sequence[DataFile]) -> None:
        rows = sum(file.rows for file in files)
        if rows >= ROW_GROUP_ROWS:
            self._bytes_per_record = sum(file.size_bytes for file in files) / rows


def _raise_if_unwritten(results: Sequence[TaskResult]) -> None:
    """A task that has found new fields has written nothing; to commit that would lose records."""
    for result in results:
        if result.new_fields is not None:
            names = ", ".join(result.new_fields.names)
            raise SchemaConflict(f"fields {names} are new and cannot become columns")
