"""The side table: records and batches that could not be decoded, whole, with the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from headrace.pipeline.parquet.calendar import within_calendar
from headrace.pipeline.parquet.file_writer import ParquetFile
from headrace.pipeline.tables.errors import refusals_named
from headrace.pipeline.tables.file_options import writer_options
from headrace.pipeline.tables.row_groups import RowGroups
from headrace.pipeline.tables.schemas import PARKED_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headrace.pipeline.decoding.model import BadValue
    from headrace.pipeline.ranges import OffsetRange
    from headrace.pipeline.tables.data_file import DataFile
    from headrace.pipeline.tables.file_layout import FileLayout
    from headrace.records.columns import BadBatch

TIMESTAMP = "timestamp"


class ParkedWriter:
    """One file, made when the first bad record comes."""

    def __init__(self, layout: FileLayout, ranges: Sequence[OffsetRange]) -> None:
        self._layout = layout
        self._ranges = tuple(ranges)
        self._waiting = RowGroups(PARKED_SCHEMA)
        self._file: ParquetFile | None = None

    def add_records(
        self, range_: OffsetRange, records: pa.RecordBatch, bad: Sequence[BadValue]
    ) -> None:
        """Records whose values are bad; a bad value's index is its row."""
        rows = records.take(pa.array([one.index for one in bad], pa.int64()))
        columns = dict(zip(rows.schema.names, rows.columns, strict=True))
        if self._layout.needs_calendar:
            columns[TIMESTAMP] = within_calendar(columns[TIMESTAMP])
        reasons = pa.array([one.reason for one in bad], pa.string())
        self._add(range_, {**columns, "last_offset": columns["offset"], "reason": reasons})

    def add_batches(self, range_: OffsetRange, bad: Sequence[BadBatch]) -> None:
        """Batches that are broken, as they lie on disk; each range parks its own offsets of one."""
        for one in bad:
            # What a broken batch says of its offsets may be nonsense, but it is within the range.
            first = min(max(one.base_offset, range_.start), range_.end - 1)
            last = max(min(one.last_offset, range_.end - 1), first)
            row = {
                "offset": pa.array([first], pa.int64()),
                "last_offset": pa.array([last], pa.int64()),
                "value": pa.array([bytes(one.data)], pa.binary()),
                "reason": pa.array([one.reason], pa.string()),
            }
            self._add(range_, row)

    def close(self) -> list[DataFile]:
        with refusals_named(self._layout.root):
            self._write(self._waiting.rest())
            return [] if self._file is None else [self._file.close()]

    def abandon(self) -> None:
        if self._file is not None:
            self._file.abandon()

    def _add(self, range_: OffsetRange, columns: Mapping[str, pa.Array]) -> None:
        count = len(columns["offset"])
        place: dict[str, Any] = {"topic": range_.topic, "partition": range_.partition}
        arrays = []
        for field in PARKED_SCHEMA:
            if field.name in place:
                arrays.append(pa.repeat(pa.scalar(place[field.name], field.type), count))
            elif field.name in columns:
                arrays.append(columns[field.name].cast(field.type))
            else:
                arrays.append(pa.nulls(count, field.type))
        with refusals_named(self._layout.root):
            self._write(self._waiting.add(pa.RecordBatch.from_arrays(arrays, schema=PARKED_SCHEMA)))

    def _write(self, groups: Sequence[pa.Table]) -> None:
        for group in groups:
            if self._file is None:
                new_file = self._layout.new_parked_file(self._ranges)
                compression = self._layout.compression
                options = writer_options(PARKED_SCHEMA, group.num_rows, compression)
                self._file = ParquetFile(self._layout, new_file, PARKED_SCHEMA, options)
            self._file.write(group)
