"""Arrow columns without a compiler: the records of ``headrace.records.decode``, one by one.

Used where numba is not installed. Slow (a Python object for each record), but the same columns,
limits and refusals as those of the compiled loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from headrace.model.errors import InvalidRecord
from headrace.records import column_schema as schema
from headrace.records.column_room import NO_ROOM, ROW_BYTES
from headrace.records.decode import decode_records

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.records.column_room import Room
    from headrace.records.header import BatchHeader
    from headrace.records.record import Header, Record
    from headrace.records.unpacking import Unpacker


class PlainBuilder:
    """Collects the rows of many batches; one for each call of the decoder."""

    def __init__(
        self,
        source: memoryview,
        columns: Sequence[str],
        *,
        start: int,
        end: int,
        unpacker: Unpacker,
        room: Room,
    ) -> None:
        del room  # lists grow by themselves
        self.taken = NO_ROOM
        self.faults: list[tuple[int, str]] = []
        """Always empty: here a bad batch is found at once."""
        self._source = source
        self._columns: dict[str, list[Any]] = {name: [] for name in columns}
        self._start = start
        self._end = end
        self._batch_bytes_max = unpacker.batch_bytes_max
        self._rows = 0
        self._record_bytes = 0

    @property
    def bytes_used(self) -> int:
        """Bytes in the fullest column, at most."""
        return max(self._rows * ROW_BYTES, self._record_bytes)

    def append(self, position: int, header: BatchHeader) -> None:
        """Add the records of the batch at a position, or raise the named error of a bad one."""
        batch = self._source[position : position + header.size_bytes]
        size_max = self._batch_bytes_max if header.compression else len(batch)
        records = decode_records(batch, size_max=size_max, check_crc=False)
        for record in records:
            if abs(record.timestamp_ms) > schema.TIMESTAMP_MS_MAX:
                raise InvalidRecord("a timestamp cannot be told in microseconds")
        chosen = [record for record in records if self._start <= record.offset < self._end]
        for name, values in self._columns.items():
            if name == schema.TIMESTAMP_TYPE:
                values += [int(header.is_log_append_time)] * len(chosen)
            else:
                values += map(_VALUE_OF[name], chosen)
        self._rows += len(chosen)
        self._record_bytes += sum(map(_size_of, chosen))

    def finish(self) -> pa.RecordBatch:
        """Everything so far as one Arrow batch."""
        chosen = schema.schema_of(self._columns)
        arrays = [
            pa.array(values, type=field.type)
            for field, values in zip(chosen, self._columns.values(), strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=chosen)


def _size_of(record: Record) -> int:
    headers = sum(len(key) + len(value or b"") for key, value in record.headers)
    return len(record.key or b"") + len(record.value or b"") + headers


def _headers_of(record: Record) -> list[Header] | None:
    return list(record.headers) or None


_VALUE_OF: dict[str, Callable[[Record], Any]] = {
    schema.KEY: lambda record: record.key,
    schema.VALUE: lambda record: record.value,
    schema.OFFSET: lambda record: record.offset,
    schema.TIMESTAMP: lambda record: record.timestamp_ms * schema.MICROSECONDS_PER_MS,
    schema.HEADERS: _headers_of,
}
