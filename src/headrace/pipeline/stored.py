"""Reading a range straight from the broker's files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from headrace.pipeline.batch_runs import FIRST_WINDOW_BYTES, Run, RunReader
from headrace.pipeline.column_batches import cut, decoded_columns
from headrace.pipeline.errors import StorageUnreachable
from headrace.pipeline.losses import admit_loss
from headrace.pipeline.segments import BelowFirstSegment
from headrace.pipeline.storage_location import FileVanished
from headrace.records.column_schema import schema_of
from headrace.records.columns import ColumnDecoder, Columns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from headrace.pipeline.ranges import OffsetRange
    from headrace.pipeline.read_settings import ReadSettings
    from headrace.pipeline.segments import OpenSegment, StoredPartition
    from headrace.storage.transaction_index import AbortedTransaction

OUTPUT_BYTES = 8 * 1024 * 1024
"""Columns of one run take about this much: the cost of a run disappears in it, and larger pieces of
memory are slower, since they come fresh from the system each time."""
OUTPUT_BYTES_MAX = 32 * 1024 * 1024
"""Where a run holds far more than the ones before it, it is decoded in parts of this size."""
RUN_BYTES_MIN = 64 * 1024
BARREN_ATTEMPTS_MAX = 5


def stored_columns(
    partition: StoredPartition,
    wanted: OffsetRange,
    settings: ReadSettings,
    log_start: Callable[[], int],
) -> Iterator[Columns]:
    """The records of a range; StorageUnreachable if the files do not hold all of it.

    ``log_start`` asks the broker: where the files begin later than that, they are behind.
    """
    reader = _StoredReader(partition, wanted, settings, log_start)
    while reader.position < wanted.end:
        yield from reader.read_segment()


class _StoredReader:
    """Goes from segment to segment; ``position`` is the next offset to read."""

    def __init__(
        self,
        partition: StoredPartition,
        wanted: OffsetRange,
        settings: ReadSettings,
        log_start: Callable[[], int],
    ) -> None:
        self.position = wanted.start
        self._partition = partition
        self._wanted = wanted
        self._settings = settings
        self._log_start = log_start
        self._decoder = ColumnDecoder(
            decoded_columns(settings.columns), output_bytes_max=OUTPUT_BYTES_MAX
        )
        self._no_rows = pa.RecordBatch.from_pylist([], schema=schema_of(settings.columns))
        self._run_bytes = min(OUTPUT_BYTES, FIRST_WINDOW_BYTES)
        self._barren_attempts = 0

    def read_segment(self) -> Iterator[Columns]:
        """What the segment at ``position`` holds of the range."""
        segment = self._open()
        if segment is None:
            return
        began = self.position
        try:
            yield from self._read(segment)
        except FileVanished as error:
            self._raise_if_barren(began, error)
        finally:
            segment.file.close()

    def _open(self) -> OpenSegment | None:
        """None if nothing is left of the range where it should begin: then ``position`` moved."""
        try:
            return self._partition.open_at(
                self.position, self._wanted.end, is_committed=self._settings.is_committed
            )
        except BelowFirstSegment as error:
            self._pass_over_lost_offsets(error.first_offset)
            return None

    def _pass_over_lost_offsets(self, first_offset: int) -> None:
        log_start = self._log_start()
        if log_start <= self.position:
            raise StorageUnreachable(
                f"{self._partition.place} begins at offset {first_offset}, the broker's log at"
                f" {log_start}"
            )
        kept_from = min(log_start, self._wanted.end)
        admit_loss(
            self._wanted.address,
            self.position,
            kept_from,
            f"the log starts at {log_start} now",
            is_fatal=self._settings.fail_on_data_loss,
        )
        self.position = kept_from

    def _read(self, segment: OpenSegment) -> Iterator[Columns]:
        reader = RunReader(segment, self.position, self._wanted.end)
        while (run := reader.next_run(self._run_bytes)) is not None:
            if isinstance(run, Run):
                yield from self._decode(run, segment.aborted)
            else:
                yield Columns(self._no_rows, [run], reader.offset)
            self.position = max(self.position, reader.offset)
        if segment.next_base is not None:
            self.position = max(self.position, min(segment.next_base, self._wanted.end))
        elif reader.offset < self._wanted.end:
            raise StorageUnreachable(
                f"{self._partition.place} ends at offset {reader.offset}, the broker's log at"
                f" {self._wanted.end} or later"
            )

    def _decode(self, run: Run, aborted: Sequence[AbortedTransaction]) -> Iterator[Columns]:
        settings = self._settings
        touching = [
            entry
            for entry in aborted
            if entry.last_offset >= run.start and entry.first_offset < run.next_offset
        ]
        data, start, lowest_offset, output_bytes = run.data, run.start, run.lowest_offset, 0
        while len(data):
            columns = self._decoder.decode(
                data,
                start=start,
                end=self._wanted.end,
                aborted=touching,
                lowest_offset=lowest_offset,
            )
            output_bytes += columns.batch.nbytes
            yield from cut(
                columns, settings.columns, settings.batch_rows_max, settings.batch_bytes_max
            )
            if not columns.next_position or columns.next_offset >= self._wanted.end:
                break
            data = data[columns.next_position :]
            start = lowest_offset = columns.next_offset
        self._adapt(len(run.data), output_bytes)

    def _adapt(self, run_bytes: int, output_bytes: int) -> None:
        """Make runs so long that their columns take about ``OUTPUT_BYTES``."""
        fitting = run_bytes * OUTPUT_BYTES // max(run_bytes, output_bytes, 1)
        self._run_bytes = max(RUN_BYTES_MIN, min(OUTPUT_BYTES, fitting))

    def _raise_if_barren(self, began: int, error: FileVanished) -> None:
        """The files changed under the reader: look again, but not for ever."""
        self._barren_attempts = 0 if self.position > began else self._barren_attempts + 1
        if self._barren_attempts >= BARREN_ATTEMPTS_MAX:
            raise StorageUnreachable(f"{error}, {BARREN_ATTEMPTS_MAX} times in a row") from error
