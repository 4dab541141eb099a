"""The work of one task: read ranges, decode values, write files, and say which.

Runs in Spark's Python workers. It may be killed at any moment and begun anew elsewhere: its files
have names that nobody else has, and count for nothing until the driver commits them.
"""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

from headrace.model.errors import HeadraceError
from headrace.pipeline.decoding.aligned_decoder import without_bad
from headrace.pipeline.decoding.spec import make_decoder
from headrace.pipeline.parquet.calendar import beyond_calendar
from headrace.pipeline.parquet.errors import TaskFailed
from headrace.pipeline.parquet.file_writer import PartitionedWriter
from headrace.pipeline.parquet.parked import ParkedWriter
from headrace.pipeline.parquet.rows import rows_of
from headrace.pipeline.parquet.tasks import TaskResult, TaskWork
from headrace.pipeline.reading import read_ranges
from headrace.pipeline.worker_garbage import spare_what_is_loaded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa

    from headrace.pipeline.decoding.model import DecodedValues, ValueDecoder
    from headrace.pipeline.decoding.spec import DecoderSpec
    from headrace.pipeline.ranges import OffsetRange
    from headrace.pipeline.read_settings import ReadSettings
    from headrace.records.columns import Columns

    Read = Callable[[Sequence[OffsetRange], ReadSettings], Iterator[tuple[OffsetRange, Columns]]]

DECODERS_MAX = 4
"""Decoders that a worker process keeps for its next task."""
SCHEMAS_PENDING_MAX = 100

_decoders: dict[bytes, ValueDecoder] = {}


def run_task(work: TaskWork) -> TaskResult:
    """An error with a name comes back as an answer: Spark would make text of it, and try again what
    cannot succeed.
    """
    try:
        return write_ranges(work)
    except HeadraceError as error:
        return TaskResult(failure=_that_travels(error))
    finally:
        spare_what_is_loaded()


def write_ranges(work: TaskWork, read: Read = read_ranges) -> TaskResult:
    attempt = _Attempt(work)
    try:
        for range_, columns in read(work.ranges, work.read):
            attempt.take(range_, columns)
        return attempt.finish()
    except BaseException:
        attempt.abandon()
        raise


class _Attempt:
    def __init__(self, work: TaskWork) -> None:
        self._work = work
        self._decoder = _decoder_of(work.spec)
        self._writer = PartitionedWriter(work.layout, work.schema, work.ranges)
        self._parked = ParkedWriter(work.layout, work.ranges)
        self._found: list[pa.Schema] = []

    def take(self, range_: OffsetRange, columns: Columns) -> None:
        records = columns.batch
        decoded = None
        if records.num_rows:
            decoded = self._decoder.decode(records.column("value"))
            self._note(decoded.new_fields)
        if self._work.is_sample or self._found:
            return  # go on looking for fields, but nothing of this attempt will be used
        if columns.bad:
            self._parked.add_batches(range_, columns.bad)
        if decoded is not None:
            self._write(range_, records, decoded)

    def finish(self) -> TaskResult:
        if self._work.is_sample or self._found:
            self.abandon()
            return TaskResult(new_fields=self._work.spec.combined(self._found))
        return TaskResult(
            files=tuple(file.to_json() for file in self._writer.close()),
            parked=tuple(file.to_json() for file in self._parked.close()),
        )

    def abandon(self) -> None:
        self._writer.abandon()
        self._parked.abandon()

    def _write(self, range_: OffsetRange, records: pa.RecordBatch, decoded: DecodedValues) -> None:
        rows = rows_of(records, decoded, range_, self._work.schema)
        if self._work.layout.needs_calendar and (wild := beyond_calendar(rows)):
            decoded = without_bad(decoded, decoded.columns, wild, records.num_rows)
            rows = rows_of(records, decoded, range_, self._work.schema)
        if decoded.bad:
            self._parked.add_records(range_, records, decoded.bad)
        if rows.num_rows:
            self._writer.write(rows)

    def _note(self, new_fields: pa.Schema) -> None:
        if len(new_fields) and new_fields not in self._found:
            self._found.append(new_fields)
            if len(self._found) > SCHEMAS_PENDING_MAX:
                self._found = [self._work.spec.combined(self._found)]


def _decoder_of(spec: DecoderSpec) -> ValueDecoder:
    """Kept by the process: some libraries take a while to set up."""
    key = pickle.dumps(spec)
    found = _decoders.get(key)
    if found is None:
        while len(_decoders) >= DECODERS_MAX:
            _decoders.pop(next(iter(_decoders)))
        found = _decoders[key] = make_decoder(spec)
    return found


def _that_travels(error: HeadraceError) -> HeadraceError:
    """The error itself if it can be pickled, with its text and its character if not."""
    error.__traceback__ = error.__cause__ = error.__context__ = None
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        failure = TaskFailed(f"{type(error).__name__}: {error.message}")
        failure.retriable = error.retriable
        return failure
    return error
