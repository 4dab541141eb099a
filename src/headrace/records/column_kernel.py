"""The compiled loop that takes batches apart, straight into Arrow's layout.

It trusts nothing: every varint and length is checked against the end of its record, and every
record against the end of the batch, before a byte of it is looked at. What is wrong comes back as a
fault code; whatever was written by then lies behind the counters, which only a good batch moves.

numba compiles the loop when this module is first imported and keeps the machine code: beside this
file (``__pycache__``), in ``~/.cache/numba`` where that directory cannot be written, or where
``NUMBA_CACHE_DIR`` says. Set that variable on workers whose copy of this package has a new path in
every run; without a place to keep it, each process compiles anew. What is kept is found by the path
and age of this file alone: touch it when a constant changes that it imports.
``NUMBA_BOUNDSCHECK=1``, with a cache directory of its own, makes one that checks every index.

Positions are unsigned: numba then leaves out the code for negative indices. A position from FAULT
on is no position but FAULT plus a fault code.
"""

# Annotations would be strings that numba does not read, and they name types of its own making:
# signatures stand in the decorators.
# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator"
# ruff: noqa: ANN001, ANN202

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from numba import config, int32, int64, njit, types, uint8, uint64
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from headrace.records.column_schema import COLUMNS, MICROSECONDS_PER_MS, TIMESTAMP_MS_MAX
from headrace.records.decode import RECORD_SIZE_MIN
from headrace.records.varint import VARINT_BYTES_MAX, VARLONG_BYTES_MAX

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

GOOD = 0
FAULT_REASONS = (
    "",
    "a varint is cut off",
    "a varint is longer than it may be",
    "a record's length does not fit the batch",
    "a record does not end where its length says",
    "a key or value has a negative length",
    "a key or value goes beyond its record",
    "a record's header count does not fit the record",
    "a header key is null",
    "a header key is not UTF-8",
    "offset deltas do not rise within the batch's range",
    "a timestamp cannot be told in microseconds",
    "bytes are left after the last record",
)
(
    _,
    VARINT_CUT_OFF,
    VARINT_TOO_LONG,
    RECORD_LENGTH,
    RECORD_END,
    NEGATIVE_LENGTH,
    BEYOND_RECORD,
    HEADER_COUNT,
    HEADER_KEY_NULL,
    HEADER_KEY_NOT_UTF8,
    OFFSET_DELTA,
    TIMESTAMP_RANGE,
    LEFT_OVER,
) = range(len(FAULT_REASONS))
WANTS_KEY, WANTS_VALUE, WANTS_OFFSET, WANTS_TIMESTAMP, WANTS_TIMESTAMP_TYPE, WANTS_HEADERS = (
    1 << COLUMNS.index(name) for name in COLUMNS
)
FAULT = 1 << 62
CODE_MASK = FAULT - 1
RECORD_LENGTH_MIN = RECORD_SIZE_MIN - 1
COPIES_ARE_CHECKED = bool(config.BOUNDSCHECK)  # type: ignore[attr-defined]


class BinaryArrays(NamedTuple):
    """A column of byte strings: ``valid`` has a byte for each, packed to bits at the end."""

    data: NDArray[np.uint8]
    offsets: NDArray[np.int32]
    valid: NDArray[np.uint8]


class RowArrays(NamedTuple):
    """One number for each row; of ``header_offsets``, one more."""

    offsets: NDArray[np.int64]
    timestamps: NDArray[np.int64]
    timestamp_types: NDArray[np.int32]
    header_offsets: NDArray[np.int32]


class Batch(NamedTuple):
    """Where the records of a batch lie, and what its header says: a row of the table."""

    position: int
    end: int
    base_offset: int
    last_offset_delta: int
    record_count: int
    base_timestamp: int
    append_timestamp: int
    is_append_time: int


class Wanted(NamedTuple):
    """The offsets asked for, and the columns: a bit for each."""

    start: int
    end: int
    columns: int


class Counts(NamedTuple):
    """How much of each array is in use."""

    rows: int
    key_bytes: int
    value_bytes: int
    headers: int
    header_key_bytes: int
    header_value_bytes: int


_BYTES = types.Array(types.uint8, 1, "C")
SOURCE = types.Array(types.uint8, 1, "C", readonly=True)
_INT32S = types.Array(types.int32, 1, "C")
_INT64S = types.Array(types.int64, 1, "C")
TABLE = types.Array(types.int64, 2, "C")


# The loop allocates nothing. Without reference counts on the arrays that it hands to its parts, and
# with the parts built into it, it takes a quarter of the time. ("_nrt" is numba's own option:
# should it go one day, the loop is right without it, but slow.)
_OPTIONS: dict[str, Any] = {"_nrt": False}
part = njit(forceinline=True, **_OPTIONS)


def compiled(signature: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """numba's compiler, with its cache where there is a place for one."""

    def compile_function(function: Callable[..., Any]) -> Callable[..., Any]:
        try:
            made = njit(signature, cache=True, nogil=True, **_OPTIONS)(function)
        except RuntimeError as error:
            if "cannot cache" not in str(error):
                raise
            made = njit(signature, nogil=True, **_OPTIONS)(function)
        result: Callable[..., Any] = made
        return result

    return compile_function


@intrinsic
def _memcpy(_context, target, target_position, source, source_position, size):
    """C's memcpy: six to ten times the speed of a loop over bytes."""

    def generate(context, builder, signature, arguments):
        target_array = make_array(signature.args[0])(context, builder, arguments[0])
        source_array = make_array(signature.args[2])(context, builder, arguments[2])
        cgutils.raw_memcpy(
            builder,
            builder.gep(target_array.data, [arguments[1]]),
            builder.gep(source_array.data, [arguments[3]]),
            arguments[4],
            1,
        )
        return context.get_dummy_value()

    unsigned = types.uint64
    return types.void(target, unsigned, source, unsigned, unsigned), generate


@part
def _copy(target, target_position, source, source_position, size):
    if COPIES_ARE_CHECKED and (
        target_position + size > uint64(len(target)) or source_position + size > uint64(len(source))
    ):
        raise IndexError("a copy goes beyond its buffer")
    _memcpy(target, target_position, source, source_position, size)  # type: ignore[call-arg]


@part
def _is_fault(position):
    return position >= uint64(FAULT)


@part
def _read_zigzag(data, position, end, bytes_max):
    """(value, position after it). A fault instead of a position is handed on."""
    if position < end and data[position] < uint8(0x80):
        byte = int64(data[position])
        return (byte >> 1) ^ -(byte & 1), position + uint64(1)
    if _is_fault(position):
        return int64(0), position
    limit = min(end, position + uint64(bytes_max))
    value, shift, index = uint64(0), uint64(0), position
    while index < limit:
        bits = uint64(data[index])
        value |= (bits & uint64(0x7F)) << shift
        index += uint64(1)
        if bits < uint64(0x80):
            if bytes_max == VARINT_BYTES_MAX:
                value &= uint64(0xFFFFFFFF)
            return int64(value >> uint64(1)) ^ -int64(value & uint64(1)), index
        shift += uint64(7)
    if limit - position == uint64(bytes_max):
        return int64(0), uint64(FAULT + VARINT_TOO_LONG)
    return int64(0), uint64(FAULT + VARINT_CUT_OFF)


@part
def _read_length(data, position, end):
    """(length of a key or value or -1 for null, position of its bytes), within the record."""
    length, position = _read_zigzag(data, position, end, VARINT_BYTES_MAX)
    if _is_fault(position):
        return int64(0), position
    if length < -1:
        return int64(0), uint64(FAULT + NEGATIVE_LENGTH)
    if length > int64(end - position):
        return int64(0), uint64(FAULT + BEYOND_RECORD)
    return length, position


@part
def _take_bytes(data, position, end, column, index, used, is_wanted):
    """Put a nullable byte string at ``index`` of a column: (position after it, bytes in use)."""
    length, position = _read_length(data, position, end)
    if _is_fault(position):
        return position, used
    size = uint64(max(length, int64(0)))
    if is_wanted:
        _copy(column.data, uint64(used), data, position, size)
        used += int64(size)
        column.valid[uint64(index)] = uint8(length >= 0)
        column.offsets[uint64(index + 1)] = int32(used)
    return position + size, used


@part
def _is_continuation(data, position, lowest, highest):
    return lowest <= data[position] <= highest


@part
def _utf8_size(data, position, end):
    """Bytes of the code point at ``position``; 0 if there is none (Unicode, table 3-7)."""
    first = data[position]
    if first < 0x80:
        return uint64(1)
    size = uint64(2) if first < 0xE0 else uint64(3) if first < 0xF0 else uint64(4)
    if first < 0xC2 or first > 0xF4 or size > end - position:
        return uint64(0)
    lowest = 0xA0 if first == 0xE0 else 0x90 if first == 0xF0 else 0x80
    highest = 0x9F if first == 0xED else 0x8F if first == 0xF4 else 0xBF
    if not _is_continuation(data, position + uint64(1), lowest, highest):
        return uint64(0)
    for further in range(uint64(2), size):
        if not _is_continuation(data, position + uint64(further), 0x80, 0xBF):
            return uint64(0)
    return size


@part
def _take_header_key(data, position, end, column, index, used, is_wanted):
    """As _take_bytes, for text that may not be null."""
    length, position = _read_length(data, position, end)
    if _is_fault(position):
        return position, used
    if length < 0:
        return uint64(FAULT + HEADER_KEY_NULL), used
    key_end = position + uint64(length)
    checked = position
    while checked < key_end:
        size = _utf8_size(data, checked, key_end)
        if size == uint64(0):
            return uint64(FAULT + HEADER_KEY_NOT_UTF8), used
        checked += size
    if is_wanted:
        _copy(column.data, uint64(used), data, position, uint64(length))
        used += length
        column.offsets[uint64(index + 1)] = int32(used)
    return key_end, used


@part
def _take_headers(data, position, end, keys, values, counts, is_wanted):
    """Append the headers of one record: (position after them, three counts)."""
    headers, key_bytes, value_bytes = counts
    count, position = _read_zigzag(data, position, end, VARINT_BYTES_MAX)
    if _is_fault(position) or count == 0:
        return position, counts
    if count < 0 or count > int64(end - position):
        return uint64(FAULT + HEADER_COUNT), counts
    for _ in range(count):
        position, key_bytes = _take_header_key(
            data, position, end, keys, headers, key_bytes, is_wanted
        )
        position, value_bytes = _take_bytes(
            data, position, end, values, headers, value_bytes, is_wanted
        )
        if _is_fault(position):
            break
        headers += int64(is_wanted != 0)
    return position, (headers, key_bytes, value_bytes)


@part
def _record_end(data, position, end):
    """(end of the record, position of its attributes)."""
    length, position = _read_zigzag(data, position, end, VARINT_BYTES_MAX)
    if _is_fault(position):
        return end, position
    if length < RECORD_LENGTH_MIN or length > int64(end - position):
        return end, uint64(FAULT + RECORD_LENGTH)
    return position + uint64(length), position


@part
def _decode_batch(data, batch, wanted, rows, keys, values, header_keys, header_values, counts):
    """Append the records of one batch: (fault code, what is in use then)."""
    row, key_bytes, value_bytes = counts.rows, counts.key_bytes, counts.value_bytes
    header_counts = (counts.headers, counts.header_key_bytes, counts.header_value_bytes)
    position, end = uint64(batch.position), uint64(batch.end)
    delta_before = int64(-1)
    for _ in range(batch.record_count):
        record_end, position = _record_end(data, position, end)
        if _is_fault(position):
            return int64(position & uint64(CODE_MASK)), counts
        timestamp_delta, position = _read_zigzag(
            data, position + uint64(1), record_end, VARLONG_BYTES_MAX
        )
        delta, position = _read_zigzag(data, position, record_end, VARINT_BYTES_MAX)
        timestamp = _timestamp_of(batch, timestamp_delta)
        position = _checked(batch, position, delta_before, delta, timestamp)
        delta_before = delta
        offset = batch.base_offset + delta
        columns = wanted.columns if wanted.start <= offset < wanted.end else 0
        position, key_bytes = _take_bytes(
            data, position, record_end, keys, row, key_bytes, columns & WANTS_KEY
        )
        position, value_bytes = _take_bytes(
            data, position, record_end, values, row, value_bytes, columns & WANTS_VALUE
        )
        position, header_counts = _take_headers(
            data,
            position,
            record_end,
            header_keys,
            header_values,
            header_counts,
            columns & WANTS_HEADERS,
        )
        if position != record_end:
            fault = position & uint64(CODE_MASK) if _is_fault(position) else uint64(RECORD_END)
            return int64(fault), counts
        if columns:
            _put_numbers(rows, row, columns, batch, offset, timestamp, header_counts[0])
            row += 1
    if position != end:
        return int64(LEFT_OVER), counts
    return int64(GOOD), Counts(
        row, key_bytes, value_bytes, header_counts[0], header_counts[1], header_counts[2]
    )


@part
def _timestamp_of(batch, delta):
    """In milliseconds. A sum that does not fit wraps, as it does in other implementations."""
    return batch.append_timestamp if batch.is_append_time else batch.base_timestamp + delta


@part
def _checked(batch, position, delta_before, delta, timestamp):
    """The position, or the fault of a record whose offset or time is impossible."""
    if _is_fault(position):
        return position
    if not delta_before < delta <= batch.last_offset_delta:
        return uint64(FAULT + OFFSET_DELTA)
    if not -TIMESTAMP_MS_MAX <= timestamp <= TIMESTAMP_MS_MAX:
        return uint64(FAULT + TIMESTAMP_RANGE)
    return position


@part
def _put_numbers(rows, row, columns, batch, offset, timestamp, headers):
    if columns & WANTS_OFFSET:
        rows.offsets[uint64(row)] = offset
    if columns & WANTS_TIMESTAMP:
        rows.timestamps[uint64(row)] = timestamp * MICROSECONDS_PER_MS
    if columns & WANTS_TIMESTAMP_TYPE:
        rows.timestamp_types[uint64(row)] = int32(batch.is_append_time)
    if columns & WANTS_HEADERS:
        rows.header_offsets[uint64(row + 1)] = int32(headers)


# Plain arrays, not tuples of them: taking a tuple over from Python costs more than a small batch.
@compiled(
    types.void(
        SOURCE,
        TABLE,
        *(types.int64,) * 3,
        *(_INT64S, _INT64S, _INT32S, _INT32S),
        *(_BYTES, _INT32S, _BYTES) * 4,
        *(_INT64S, _INT64S),
    )
)
def decode_batches(
    data,
    table,
    start,
    end,
    columns,
    offsets,
    timestamps,
    timestamp_types,
    header_offsets,
    key_data,
    key_offsets,
    key_valid,
    value_data,
    value_offsets,
    value_valid,
    header_key_data,
    header_key_offsets,
    header_key_valid,
    header_value_data,
    header_value_offsets,
    header_value_valid,
    counts,
    faults,
) -> None:
    """Append the batches in the table; ``counts`` and a fault code for each are written back."""
    wanted = Wanted(start, end, columns)
    rows = RowArrays(offsets, timestamps, timestamp_types, header_offsets)
    keys = BinaryArrays(key_data, key_offsets, key_valid)
    values = BinaryArrays(value_data, value_offsets, value_valid)
    header_keys = BinaryArrays(header_key_data, header_key_offsets, header_key_valid)
    header_values = BinaryArrays(header_value_data, header_value_offsets, header_value_valid)
    used = Counts(counts[0], counts[1], counts[2], counts[3], counts[4], counts[5])
    for number in range(len(table)):
        line = table[number]
        batch = Batch(line[0], line[1], line[2], line[3], line[4], line[5], line[6], line[7])
        faults[number], used = _decode_batch(
            data, batch, wanted, rows, keys, values, header_keys, header_values, used
        )
    counts[0], counts[1], counts[2] = used.rows, used.key_bytes, used.value_bytes
    counts[3], counts[4] = used.headers, used.header_key_bytes
    counts[5] = used.header_value_bytes
