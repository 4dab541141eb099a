"""The side table: records and batches that could not be decoded, whole, with the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from headrace.pipeline.parquet.file_writer import ParquetFile
from headrace.pipeline.tables.errors import refusals_named
from headrace.pipeline.tables.schemas import PARKED_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.pipeline.decoding.model import BadValue
    from headrace.pipeline.ranges import OffsetRange
    from headrace.pipeline.tables.data_file import DataFile
    from headrace.pipeline.tables.file_layout import FileLayout
    from headrace.records.columns import BadBatch

ROWS_AT_ONCE = 1_000
OPTIONS = {"compression": "zstd"}
_OF_RECORDS = ("offset", "timestamp", "key", "value", "headers")


class ParkedWriter:
    """One file, made when the first bad record comes."""

    def __init__(self, layout: FileLayout, ranges: Sequence[OffsetRange]) -> None:
        self._layout = layout
        self._ranges = tuple(ranges)
        self._file: ParquetFile | None = None

    def add_records(
        self, range_: OffsetRange, records: pa.RecordBatch, bad: Sequence[BadValue]
    ) -> None:
        """Records whose values are bad; a bad value's index is its row."""
        for first in range(0, len(bad), ROWS_AT_ONCE):
            some = bad[first : first + ROWS_AT_ONCE]
            names = [name for name in _OF_RECORDS if name in records.schema.names]
            rows = records.select(names).take(pa.array([one.index for one in some], pa.int64()))
            self._write(
                [
                    _row(range_, one.reason, row["offset"], row)
                    for one, row in zip(some, rows.to_pylist(), strict=True)
                ]
            )

    def add_batches(self, range_: OffsetRange, bad: Sequence[BadBatch]) -> None:
        """Batches that are broken, as they lie on disk; each range parks its own offsets of one."""
        for one in bad:
            first = max(one.base_offset, range_.start)
            last = min(one.last_offset, range_.end - 1)
            values = {"offset": first, "value": bytes(one.data)}
            self._write([_row(range_, one.reason, last, values)])

    def close(self) -> list[DataFile]:
        if self._file is None:
            return []
        with refusals_named(self._layout.root):
            return [self._file.close()]

    def abandon(self) -> None:
        if self._file is not None:
            self._file.abandon()

    def _write(self, rows: list[dict[str, Any]]) -> None:
        with refusals_named(self._layout.root):
            if self._file is None:
                new_file = self._layout.new_parked_file(self._ranges)
                self._file = ParquetFile(self._layout, new_file, PARKED_SCHEMA, dict(OPTIONS))
            self._file.add(pa.RecordBatch.from_pylist(rows, schema=PARKED_SCHEMA))


def _row(
    range_: OffsetRange, reason: str, last_offset: int, values: dict[str, Any]
) -> dict[str, Any]:
    return {
        **values,
        "topic": range_.topic,
        "partition": range_.partition,
        "last_offset": last_offset,
        "reason": reason,
    }
