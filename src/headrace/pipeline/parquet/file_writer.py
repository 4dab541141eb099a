"""Rows to Parquet files, one for each hour or day, a row group at a time.

Memory is bounded: what waits for its row group to fill up is counted over all files, and written
early where it grows too much. So is the number of open files. A file is opened when there is a row
group for it; where too many are open the oldest one is closed, and its hour gets a second file.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.pipeline.parquet.buckets import bucket_start_ms, split_by_time
from headrace.pipeline.tables.errors import refusals_named
from headrace.pipeline.tables.file_options import ROW_GROUP_BYTES, ROW_GROUP_ROWS, writer_options
from headrace.pipeline.tables.row_groups import RowGroups
from headrace.pipeline.tables.write_back import begin_write_back

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headrace.pipeline.ranges import OffsetRange
    from headrace.pipeline.tables.data_file import DataFile
    from headrace.pipeline.tables.file_layout import FileLayout, NewFile

PENDING_BYTES_MAX = 2 * ROW_GROUP_BYTES
OPEN_FILES_MAX = 128


class ParquetFile:
    """One file that is being written."""

    def __init__(
        self, layout: FileLayout, new_file: NewFile, schema: pa.Schema, options: Mapping[str, Any]
    ) -> None:
        self._layout = layout
        self._new_file = new_file
        self._metadata: list[pq.FileMetaData] = []
        self._stream = layout.open(new_file)
        self._writer = pq.ParquetWriter(
            self._stream, schema, metadata_collector=self._metadata, **options
        )

    def write(self, rows: pa.Table) -> None:
        """As one row group."""
        self._writer.write_table(rows, ROW_GROUP_ROWS)
        if self._layout.is_local:
            begin_write_back(self._stream)

    def close(self) -> DataFile:
        self._writer.close()
        self._stream.close()
        return self._layout.describe(self._new_file, self._metadata[0])

    def abandon(self) -> None:
        """Nobody will ever name the file, so it goes at once. Why it is abandoned has been said:
        that it cannot even be closed (a full disk) adds nothing.
        """
        for part in (self._writer, self._stream):
            with suppress(OSError, pa.ArrowException):
                part.close()
        self._layout.discard(self._new_file.path)


class PartitionedWriter:
    """The files of one task."""

    def __init__(
        self, layout: FileLayout, schema: pa.Schema, ranges: Sequence[OffsetRange]
    ) -> None:
        self._layout = layout
        self._schema = schema
        self._ranges = tuple(ranges)
        rows_expected = sum(one.end - one.start for one in ranges)
        self._options = writer_options(schema, rows_expected, layout.compression)
        self._waiting: dict[int, RowGroups] = {}
        self._open: dict[int, ParquetFile] = {}
        self._closed: list[DataFile] = []

    @property
    def pending_bytes(self) -> int:
        return sum(rows.pending_bytes for rows in self._waiting.values())

    def write(self, batch: pa.RecordBatch) -> None:
        with refusals_named(self._layout.root):
            for bucket, part in split_by_time(batch, self._layout.bucket_ms):
                if bucket not in self._waiting:
                    self._waiting[bucket] = RowGroups(self._schema)
                self._put(bucket, self._waiting[bucket].add(part))
            while self.pending_bytes > PENDING_BYTES_MAX:
                bucket = max(self._waiting, key=lambda one: self._waiting[one].pending_bytes)
                self._put(bucket, self._waiting[bucket].rest())

    def close(self) -> list[DataFile]:
        with refusals_named(self._layout.root):
            for bucket in sorted(self._waiting):
                self._put(bucket, self._waiting[bucket].rest())
                if bucket in self._open:
                    self._close(bucket)
        return self._closed

    def abandon(self) -> None:
        for file in self._open.values():
            file.abandon()
        self._layout.discard(*(file.path for file in self._closed))

    def _put(self, bucket: int, groups: Sequence[pa.Table]) -> None:
        for group in groups:
            if bucket not in self._open:
                if len(self._open) >= OPEN_FILES_MAX:
                    self._close(next(iter(self._open)))
                self._open[bucket] = self._new_file(bucket)
            self._open[bucket].write(group)

    def _close(self, bucket: int) -> None:
        self._closed.append(self._open[bucket].close())
        del self._open[bucket]  # after it was closed: what fails to close has to be abandoned

    def _new_file(self, bucket: int) -> ParquetFile:
        values = self._layout.partition_values(bucket_start_ms(bucket, self._layout.bucket_ms))
        new_file = self._layout.new_file(self._ranges, values)
        return ParquetFile(self._layout, new_file, self._schema, self._options)
