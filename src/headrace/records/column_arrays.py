"""Arrow columns filled by the compiled loop: buffers that grow, and what Arrow makes of them.

Before batches are taken apart there is room for the most that they can hold, since every row, key,
value and header takes bytes of its own in its batch. So the loop never has to ask for room.

Small batches are collected and handed to the loop together: a call from Python costs as much as a
hundred records do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from headrace.model.errors import InvalidRecord
from headrace.records import column_schema as schema
from headrace.records.column_kernel import (
    FAULT_REASONS,
    Batch,
    BinaryArrays,
    Counts,
    RowArrays,
    decode_batches,
)
from headrace.records.column_room import ROW_BYTES, Room
from headrace.records.compression import Compression
from headrace.records.decode import RECORD_SIZE_MIN
from headrace.records.header import HEADER_SIZE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from headrace.records.header import BatchHeader
    from headrace.records.unpacking import Unpacker

    Array = NDArray[Any]

HEADER_BYTES_MIN = 2
"""A header takes at least the two lengths of its key and value."""
GROWTH = 2
RECORD_COUNT = Batch._fields.index("record_count")
COLLECTED_BATCHES_MAX = 256
COLLECTED_BYTES_MAX = 512 * 1024


class CompiledBuilder:
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
        self.faults: list[tuple[int, str]] = []
        """Position and reason of each batch that the loop found bad."""
        self._view = source
        self._source = read_only(source)
        self._columns = columns
        self._start = start
        self._end = end
        self._wanted = sum(1 << schema.COLUMNS.index(name) for name in columns)
        self._unpacker = unpacker
        self._unpacker.clear()  # of what a builder left that was given up
        self._collected: list[int] = []
        self._table: list[tuple[int, ...]] = []
        self._collected_bytes = 0
        self._column_bytes = 0
        self._counts = np.zeros(len(Counts._fields), np.int64)
        self._rows = RowArrays(
            _empty(self._wanted_of(schema.OFFSET, room.rows), np.dtype(np.int64)),
            _empty(self._wanted_of(schema.TIMESTAMP, room.rows), np.dtype(np.int64)),
            _empty(self._wanted_of(schema.TIMESTAMP_TYPE, room.rows), np.dtype(np.int32)),
            _ends(self._wanted_of(schema.HEADERS, room.rows)),
        )
        self._keys, self._values = (
            _binary_arrays(self._wanted_of(name, room.rows), self._wanted_of(name, size_bytes))
            for name, size_bytes in ((schema.KEY, room.key_bytes), (schema.VALUE, room.value_bytes))
        )
        self._header_keys = _binary_arrays(0, 0)
        self._header_values = _binary_arrays(0, 0)

    @property
    def bytes_used(self) -> int:
        """Bytes in the fullest column, at most."""
        return self._collected_bytes + self._column_bytes

    def append(self, position: int, header: BatchHeader) -> None:
        """Add the records of the batch at a position."""
        _raise_if_impossible(header)
        begin, end = position + HEADER_SIZE, position + header.size_bytes
        if begin == end and not header.record_count:
            return  # what compaction leaves of a batch, compressed or not
        batch = Batch(
            begin,
            end,
            header.base_offset,
            header.last_offset_delta,
            header.record_count,
            header.base_timestamp,
            header.max_timestamp,
            header.is_log_append_time,
        )
        self.append_batch(position, header.compression, batch)

    def append_batch(self, position: int, codec: int, batch: Sequence[int]) -> None:
        """The same for a row of the loop's table, whose records may be compressed yet."""
        begin, end, base_offset, delta, count, *times = batch
        is_plain = codec == Compression.NONE
        if is_plain == bool(self._unpacker.used):
            self._decode_collected()
        size_bytes = end - begin
        if not is_plain:
            size_bytes = self._unpacker.unpack(codec, self._view[begin:end])
            begin = self._unpacker.used
        # Checked before anything is sized by it.
        if count * RECORD_SIZE_MIN > size_bytes:
            raise InvalidRecord(f"{count} records do not fit into {size_bytes} bytes")
        if not is_plain:
            self._unpacker.keep(size_bytes)
        self._collected.append(position)
        self._table.append((begin, begin + size_bytes, base_offset, delta, count, *times))
        self._collected_bytes += size_bytes
        is_enough = self._collected_bytes >= COLLECTED_BYTES_MAX
        if is_enough or len(self._collected) >= COLLECTED_BATCHES_MAX:
            self._decode_collected()

    @property
    def taken(self) -> Room:
        """How much room the rows of the finished batch take."""
        used = self._used()
        return Room(used.rows, used.key_bytes, used.value_bytes)

    def finish(self) -> pa.RecordBatch:
        """Everything so far as one Arrow batch, without copying the bytes."""
        self._decode_collected()
        arrays = [self._array(name) for name in self._columns]
        return pa.RecordBatch.from_arrays(arrays, schema=schema.schema_of(self._columns))

    def _used(self) -> Counts:
        return Counts(*self._counts.tolist())

    def _decode_collected(self) -> None:
        """Take apart what was collected: either all plain or all unpacked."""
        if not self._table:
            return
        table = np.array(self._table, np.int64)
        self._reserve(int(table[:, RECORD_COUNT].sum()), self._collected_bytes)
        faults = np.empty(len(table), np.int64)
        decode_batches(
            read_only(self._unpacker.kept()) if self._unpacker.used else self._source,
            table,
            self._start,
            self._end,
            self._wanted,
            *self._rows,
            *self._keys,
            *self._values,
            *self._header_keys,
            *self._header_values,
            self._counts,
            faults,
        )
        for index in np.flatnonzero(faults).tolist():
            self.faults.append((self._collected[index], FAULT_REASONS[faults[index]]))
        self._collected, self._table = [], []
        self._collected_bytes = 0
        self._unpacker.clear()
        used = self._used()
        self._column_bytes = max(
            used.rows * ROW_BYTES,
            used.key_bytes,
            used.value_bytes,
            used.header_key_bytes,
            used.header_value_bytes,
        )

    def _reserve(self, rows: int, size_bytes: int) -> None:
        """Make room for batches of so many records in so many bytes."""
        used = self._used()
        if schema.KEY in self._columns:
            self._keys = _with_room(self._keys, used.rows, rows, used.key_bytes, size_bytes)
        if schema.VALUE in self._columns:
            self._values = _with_room(self._values, used.rows, rows, used.value_bytes, size_bytes)
        if schema.HEADERS in self._columns:
            more = size_bytes // HEADER_BYTES_MIN
            self._header_keys = _with_room(
                self._header_keys, used.headers, more, used.header_key_bytes, size_bytes
            )
            self._header_values = _with_room(
                self._header_values, used.headers, more, used.header_value_bytes, size_bytes
            )
        numbers = self._rows
        self._rows = RowArrays(
            _grown(numbers.offsets, used.rows, self._wanted_of(schema.OFFSET, rows)),
            _grown(numbers.timestamps, used.rows, self._wanted_of(schema.TIMESTAMP, rows)),
            _grown(
                numbers.timestamp_types, used.rows, self._wanted_of(schema.TIMESTAMP_TYPE, rows)
            ),
            _grown(numbers.header_offsets, used.rows + 1, self._wanted_of(schema.HEADERS, rows)),
        )

    def _wanted_of(self, name: str, count: int) -> int:
        return count if name in self._columns else 0

    def _array(self, name: str) -> pa.Array:
        used = self._used()
        if name == schema.KEY:
            return _binary_array(self._keys, pa.binary(), used.rows, used.key_bytes)
        if name == schema.VALUE:
            return _binary_array(self._values, pa.binary(), used.rows, used.value_bytes)
        if name == schema.HEADERS:
            return self._headers_array(used)
        numbers: dict[str, Array] = {
            schema.OFFSET: self._rows.offsets,
            schema.TIMESTAMP: self._rows.timestamps,
            schema.TIMESTAMP_TYPE: self._rows.timestamp_types,
        }
        data = pa.py_buffer(numbers[name][: used.rows])
        return pa.Array.from_buffers(schema.SCHEMA.field(name).type, used.rows, [None, data])

    def _headers_array(self, used: Counts) -> pa.Array:
        keys = _binary_array(self._header_keys, pa.string(), used.headers, used.header_key_bytes)
        values = _binary_array(
            self._header_values, pa.binary(), used.headers, used.header_value_bytes
        )
        items = pa.StructArray.from_buffers(
            schema.HEADER_TYPE, used.headers, [None], children=[keys, values]
        )
        ends = self._rows.header_offsets[: used.rows + 1]
        return pa.Array.from_buffers(
            schema.SCHEMA.field(schema.HEADERS).type,
            used.rows,
            [_bitmap(ends[1:] > ends[:-1]), pa.py_buffer(ends)],
            children=[items],
        )


def _raise_if_impossible(header: BatchHeader) -> None:
    if header.record_count < 0 or header.last_offset_delta < 0:
        raise InvalidRecord(
            f"record count {header.record_count}, last offset delta {header.last_offset_delta}"
        )


# --- buffers ------------------------------------------------------------------------------------


def read_only(data: memoryview) -> Array:
    """One kind of array for all sources: so there is one compiled version of the loop."""
    array = np.frombuffer(data, np.uint8)
    array.flags.writeable = False
    return array


def _empty(count: int, dtype: np.dtype[Any]) -> Array:
    """Of Arrow's own pool, which hands out again what was freed: page faults cost a lot here."""
    if not count:
        return np.empty(0, dtype)
    array: Array = np.frombuffer(pa.allocate_buffer(count * dtype.itemsize), dtype)
    return array


def _ends(items: int) -> Array:
    """Where items end in their column; the first one begins at 0."""
    ends = _empty(items + 1, np.dtype(np.int32))
    ends[0] = 0
    return ends


def _binary_arrays(items: int, size_bytes: int) -> BinaryArrays:
    return BinaryArrays(
        data=_empty(size_bytes, np.dtype(np.uint8)),
        offsets=_ends(items),
        valid=_empty(items, np.dtype(np.uint8)),
    )


def _with_room(
    column: BinaryArrays, items: int, items_more: int, used: int, bytes_more: int
) -> BinaryArrays:
    return BinaryArrays(
        _grown(column.data, used, bytes_more),
        _grown(column.offsets, items + 1, items_more),
        _grown(column.valid, items, items_more),
    )


def _grown(array: Array, used: int, more: int) -> Array:
    """The array itself, or a larger one with its first ``used`` items."""
    if not more or used + more <= len(array):
        return array
    larger = _empty(max(used + more, GROWTH * len(array)), array.dtype)
    larger[:used] = array[:used]
    return larger


# --- to Arrow -----------------------------------------------------------------------------------


def _binary_array(column: BinaryArrays, arrow_type: pa.DataType, items: int, used: int) -> pa.Array:
    buffers = [
        None if arrow_type == pa.string() else _bitmap(column.valid[:items]),
        pa.py_buffer(column.offsets[: items + 1]),
        pa.py_buffer(column.data[:used]),
    ]
    return pa.Array.from_buffers(arrow_type, items, buffers)


def _bitmap(valid: Array) -> pa.Buffer | None:
    """A bit for each item, or None where all are there."""
    return None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
