"""Rows to Parquet files, one for each hour or day, a row group at a time.

Memory is bounded: what waits for its row group to fill up is counted over all files, and written
early where it grows too much.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.pipeline.parquet.buckets import bucket_start_ms, split_by_time
from headrace.pipeline.parquet.file_options import (
    ROW_GROUP_BYTES,
    ROW_GROUP_ROWS,
    writer_options,
)
from headrace.pipeline.tables.errors import refusals_named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.pipeline.ranges import OffsetRange
    from headrace.pipeline.tables.data_file import DataFile
    from headrace.pipeline.tables.file_layout import FileLayout, NewFile

PENDING_BYTES_MAX = 2 * ROW_GROUP_BYTES
OPEN_FILES_MAX = 128


class TooManyFiles(Exception):
    """The rows belong to more hours than files may be open: take fewer rows at once."""


class ParquetFile:
    """One file that is being written."""

    def __init__(
        self, layout: FileLayout, new_file: NewFile, schema: pa.Schema, options: dict[str, Any]
    ) -> None:
        self._layout = layout
        self._new_file = new_file
        self._schema = schema
        self._metadata: list[pq.FileMetaData] = []
        self._stream = layout.open(new_file)
        self._writer = pq.ParquetWriter(
            self._stream, schema, metadata_collector=self._metadata, **options
        )
        self._pending: list[pa.RecordBatch] = []
        self._pending_rows = 0
        self.pending_bytes = 0

    def add(self, batch: pa.RecordBatch) -> None:
        self._pending.append(batch)
        self._pending_rows += batch.num_rows
        self.pending_bytes += batch.nbytes
        if self._pending_rows >= ROW_GROUP_ROWS or self.pending_bytes >= ROW_GROUP_BYTES:
            self.flush(keeping_rest=self._pending_rows > ROW_GROUP_ROWS)

    def flush(self, *, keeping_rest: bool = False) -> None:
        """Write what is pending; what does not fill a row group may stay."""
        if not self._pending:
            return
        table = pa.Table.from_batches(self._pending, self._schema)
        rest = table.num_rows % ROW_GROUP_ROWS if keeping_rest else 0
        kept = table.slice(table.num_rows - rest).to_batches() if rest else []
        self._writer.write_table(table.slice(0, table.num_rows - rest), ROW_GROUP_ROWS)
        self._pending = kept
        self._pending_rows = rest
        self.pending_bytes = sum(batch.nbytes for batch in kept)

    def close(self) -> DataFile:
        self.flush()
        self._writer.close()
        self._stream.close()
        return self._layout.describe(self._new_file, self._metadata[0])

    def abandon(self) -> None:
        """Nobody will ever name the file, and the table clears it away. Why it is abandoned has
        been said: that it cannot even be closed (a full disk) adds nothing.
        """
        self._pending.clear()
        with suppress(OSError):
            self._writer.close()
        with suppress(OSError):
            self._stream.close()


class PartitionedWriter:
    """The files of one task."""

    def __init__(
        self, layout: FileLayout, schema: pa.Schema, ranges: Sequence[OffsetRange]
    ) -> None:
        self._layout = layout
        self._schema = schema
        self._ranges = tuple(ranges)
        self._options = writer_options(schema, sum(one.end - one.start for one in ranges))
        self._files: dict[int, ParquetFile] = {}

    def write(self, batch: pa.RecordBatch) -> None:
        with refusals_named(self._layout.root):
            for bucket, part in split_by_time(batch, self._layout.bucket_ms):
                self._file(bucket).add(part)
            while sum(file.pending_bytes for file in self._files.values()) > PENDING_BYTES_MAX:
                max(self._files.values(), key=lambda file: file.pending_bytes).flush()

    def close(self) -> list[DataFile]:
        with refusals_named(self._layout.root):
            return [self._files[bucket].close() for bucket in sorted(self._files)]

    def abandon(self) -> None:
        for file in self._files.values():
            file.abandon()

    def _file(self, bucket: int) -> ParquetFile:
        file = self._files.get(bucket)
        if file is None:
            if len(self._files) >= OPEN_FILES_MAX:
                raise TooManyFiles
            values = self._layout.partition_values(bucket_start_ms(bucket, self._layout.bucket_ms))
            new_file = self._layout.new_file(self._ranges, values)
            file = ParquetFile(self._layout, new_file, self._schema, self._options)
            self._files[bucket] = file
        return file
