"""Open a batch and take its records out, trusting nothing: lengths, counts and deltas are checked.

Slow by nature (Python per record): replay of internal topics, compaction, look-up by timestamp, and
the few checks that a topic's settings force upon produce. Plain produce and fetch never come here.
"""

from __future__ import annotations

from headrace.model.errors import CorruptRecord, InvalidRecord
from headrace.records.compression import decompress
from headrace.records.header import (
    HEADER_SIZE,
    LOG_APPEND_TIME,
    BatchHeader,
    Buffer,
    crc_is_valid,
    raise_if_impossible,
    read_header,
)
from headrace.records.record import Header, Record
from headrace.records.varint import read_varint, read_varlong, wrap_int64

RECORDS_SIZE_MAX = 128 * 1024 * 1024
"""Most that the records of one batch may take uncompressed."""
RECORD_SIZE_MIN = 7
"""Length, attributes, two deltas, two null lengths and a header count: one byte each."""


def decode_records(
    batch: Buffer, *, size_max: int = RECORDS_SIZE_MAX, check_crc: bool = True
) -> list[Record]:
    """All records of one whole batch, with absolute offsets and timestamps.

    CorruptRecord: framing or checksum is wrong. InvalidRecord: the checksum is right, but what the
    records say contradicts the header. RecordTooLarge: they take more than ``size_max``.
    """
    header = _checked_header(batch, check_crc)
    data = _records_of(batch, header, size_max)
    records: list[Record] = []
    position, delta_before = 0, -1
    for _ in range(header.record_count):
        record, position = _read_record(data, position, header)
        delta = record.offset - header.base_offset
        if not delta_before < delta <= header.last_offset_delta:
            raise InvalidRecord(
                f"offset delta {delta} after {delta_before}, the batch ends at"
                f" {header.last_offset_delta}"
            )
        delta_before = delta
        records.append(record)
    _raise_if_left_over(data, position)
    return records


def null_key_indexes(batch: Buffer, *, size_max: int = RECORDS_SIZE_MAX) -> list[int]:
    """Indexes of records without a key, which a compacted topic refuses (KIP-467)."""
    header = read_header(batch)
    data = _records_of(batch, header, size_max)
    indexes: list[int] = []
    position = 0
    for index in range(header.record_count):
        end, position = _record_frame(data, position)
        _, position = read_varlong(data, position + 1)
        _, position = read_varint(data, position)
        key_length, position = read_varint(data, position)
        if key_length < 0:
            indexes.append(index)
        position = end
    _raise_if_left_over(data, position)
    return indexes


def _checked_header(batch: Buffer, check_crc: bool) -> BatchHeader:
    header = read_header(batch)
    raise_if_impossible(header, 0)
    if header.size_bytes != len(batch):
        raise CorruptRecord(f"batch claims {header.size_bytes} bytes, {len(batch)} are there")
    if check_crc and not crc_is_valid(batch, 0, header.size_bytes):
        raise CorruptRecord("the checksum of the batch is wrong")
    return header


def _records_of(batch: Buffer, header: BatchHeader, size_max: int) -> bytes:
    """The uncompressed records; the count is checked before anything is built from it."""
    if header.record_count < 0 or header.last_offset_delta < 0:
        raise InvalidRecord(
            f"record count {header.record_count}, last offset delta {header.last_offset_delta}"
        )
    with memoryview(batch) as view, view[HEADER_SIZE : header.size_bytes] as body:
        if header.record_count == 0 and not body:
            return b""
        data = decompress(header.compression, body, size_max)
    if header.record_count * RECORD_SIZE_MIN > len(data):
        raise InvalidRecord(f"{header.record_count} records do not fit into {len(data)} bytes")
    return data


def _raise_if_left_over(data: bytes, position: int) -> None:
    if position != len(data):
        raise InvalidRecord(f"{len(data) - position} bytes are left after the last record")


def _record_frame(data: bytes, position: int) -> tuple[int, int]:
    """(end of the record, position of its attributes)."""
    length, position = read_varint(data, position)
    end = position + length
    if length < RECORD_SIZE_MIN - 1 or end > len(data):
        raise InvalidRecord(f"a record claims {length} bytes, {len(data) - position} are left")
    return end, position


def _read_record(data: bytes, position: int, header: BatchHeader) -> tuple[Record, int]:
    end, position = _record_frame(data, position)
    timestamp_delta, position = read_varlong(data, position + 1)
    offset_delta, position = read_varint(data, position)
    key, position = _read_nullable_bytes(data, position, end)
    value, position = _read_nullable_bytes(data, position, end)
    headers, position = _read_headers(data, position, end)
    if position != end:
        raise InvalidRecord(f"a record ends at byte {position}, its length says {end}")
    timestamp = wrap_int64(header.base_timestamp + timestamp_delta)
    if header.attributes & LOG_APPEND_TIME:
        timestamp = header.max_timestamp
    return Record(header.base_offset + offset_delta, timestamp, key, value, headers), position


def _read_nullable_bytes(data: bytes, position: int, end: int) -> tuple[bytes | None, int]:
    length, position = read_varint(data, position)
    if length < 0:
        if length != -1:
            raise InvalidRecord(f"a key or value has the length {length}")
        return None, position
    if position + length > end:
        raise InvalidRecord(f"a key or value of {length} bytes goes beyond its record")
    return data[position : position + length], position + length


def _read_headers(data: bytes, position: int, end: int) -> tuple[tuple[Header, ...], int]:
    count, position = read_varint(data, position)
    if count == 0:
        return (), position
    if not 0 < count <= end - position:
        raise InvalidRecord(f"a record claims {count} headers in {end - position} bytes")
    headers: list[Header] = []
    for _ in range(count):
        key, position = _read_nullable_bytes(data, position, end)
        value, position = _read_nullable_bytes(data, position, end)
        headers.append(Header(_header_key(key), value))
    return tuple(headers), position


def _header_key(key: bytes | None) -> str:
    if key is None:
        raise InvalidRecord("a header key must not be null")
    try:
        return key.decode()
    except UnicodeDecodeError as error:
        raise InvalidRecord("a header key is not UTF-8") from error
