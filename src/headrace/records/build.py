"""Build record batches: internal writers, compaction and tests. Clients build their own.

Records given as ``Record`` keep their offsets and timestamps, so compaction can leave gaps; pairs
of (key, value) are numbered from ``base_offset`` and all get ``timestamp_ms``.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from crc32c import crc32c

from headrace.records.compression import Compression, compress
from headrace.records.header import (
    CONTROL,
    DELETE_HORIZON,
    HEADER,
    HEADER_SIZE,
    LENGTH_OVERHEAD,
    LOG_APPEND_TIME,
    MAGIC,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL,
    BatchHeader,
    stamp_crc,
)
from headrace.records.record import Record
from headrace.records.varint import append_varint, varint_bytes, wrap_int64

if TYPE_CHECKING:
    from collections.abc import Sequence

KeyAndValue = tuple[bytes | None, bytes | None]

_BEFORE_COVERED = struct.Struct(">qiiBI")
"""The part of the header that is not under the checksum, and the checksum."""
_COVERED_HEADER = struct.Struct(">hiqqqhii")
_NO_ATTRIBUTES_SAME_TIME = bytes((0, 0))
_NULL = bytes((1,))
"""Minus one in zig-zag."""
_NO_HEADERS = bytes((0,))


def build_batch(
    records: Sequence[KeyAndValue] | Sequence[Record],
    *,
    base_offset: int = 0,
    timestamp_ms: int = NO_TIMESTAMP,
    compression: int = Compression.NONE,
    compression_level: int | None = None,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    transactional: bool = False,
    control: bool = False,
    leader_epoch: int = 0,
    delete_horizon_ms: int | None = None,
    last_offset: int | None = None,
    log_append_time_ms: int | None = None,
) -> bytearray:
    """Return one batch as bytes.

    ``last_offset`` keeps the range of a batch whose last records compaction removed.
    """
    numbered = _numbered(records, base_offset, timestamp_ms)
    assert numbered, "a batch without records is built by build_empty_batch"
    base_timestamp = numbered[0].timestamp_ms if delete_horizon_ms is None else delete_horizon_ms
    body = bytearray()
    for record in numbered:
        _append_record(body, record, base_offset, base_timestamp)
    max_timestamp = max(record.timestamp_ms for record in numbered)
    header = BatchHeader(
        base_offset=base_offset,
        batch_length=0,
        leader_epoch=leader_epoch,
        magic=MAGIC,
        crc=0,
        attributes=compression
        | (TRANSACTIONAL if transactional else 0)
        | (CONTROL if control else 0)
        | (DELETE_HORIZON if delete_horizon_ms is not None else 0)
        | (LOG_APPEND_TIME if log_append_time_ms is not None else 0),
        last_offset_delta=(numbered[-1].offset if last_offset is None else last_offset)
        - base_offset,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp if log_append_time_ms is None else log_append_time_ms,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        record_count=len(numbered),
    )
    return assemble(header, compress(compression, body, compression_level))


def build_coordinator_batch(
    records: Sequence[KeyAndValue],
    *,
    timestamp_ms: int,
    leader_epoch: int = 0,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    transactional: bool = False,
) -> bytearray:
    """``build_batch`` for coordinators: of one time, not compressed, without headers.

    They write one with each decision, most of them with a single record.
    """
    count = len(records)
    parts = [
        _COVERED_HEADER.pack(
            TRANSACTIONAL if transactional else 0,
            count - 1,
            timestamp_ms,
            timestamp_ms,
            producer_id,
            producer_epoch,
            NO_SEQUENCE,
            count,
        )
    ]
    for index, (key, value) in enumerate(records):
        content = b"%b%b%b%b%b" % (
            _NO_ATTRIBUTES_SAME_TIME,
            varint_bytes(index),
            _NULL if key is None else varint_bytes(len(key)) + key,
            _NULL if value is None else varint_bytes(len(value)) + value,
            _NO_HEADERS,
        )
        parts += varint_bytes(len(content)), content
    covered = b"".join(parts)
    length = _BEFORE_COVERED.size - LENGTH_OVERHEAD + len(covered)
    start = _BEFORE_COVERED.pack(0, length, leader_epoch, MAGIC, crc32c(covered))
    return bytearray(start + covered)


def build_empty_batch(header: BatchHeader) -> bytearray:
    """What compaction leaves of a batch that carries the last sequence of a producer.

    Offsets, epoch, producer and sequences stay; there are no records (notes: KIP-98, KIP-534).
    """
    kept_attributes = header.attributes & (LOG_APPEND_TIME | TRANSACTIONAL | CONTROL)
    empty = header._replace(
        attributes=kept_attributes, base_timestamp=header.max_timestamp, record_count=0
    )
    return assemble(empty, b"")


def assemble(header: BatchHeader, body: bytes | bytearray) -> bytearray:
    """Put header and (compressed) records together; length and checksum are filled in."""
    batch = bytearray(HEADER_SIZE)
    length = HEADER_SIZE - LENGTH_OVERHEAD + len(body)
    HEADER.pack_into(batch, 0, *header._replace(batch_length=length))
    batch += body
    stamp_crc(batch, 0, len(batch))
    return batch


def _numbered(
    records: Sequence[KeyAndValue | Record], base_offset: int, timestamp_ms: int
) -> list[Record]:
    numbered: list[Record] = []
    for index, item in enumerate(records):
        if isinstance(item, Record):
            numbered.append(item)
        else:
            key, value = item
            numbered.append(Record(base_offset + index, timestamp_ms, key, value))
    return numbered


def _append_record(
    target: bytearray, record: Record, base_offset: int, base_timestamp: int
) -> None:
    content = bytearray(1)  # record attributes: unused, always zero
    append_varint(content, wrap_int64(record.timestamp_ms - base_timestamp))
    append_varint(content, record.offset - base_offset)
    _append_nullable_bytes(content, record.key)
    _append_nullable_bytes(content, record.value)
    append_varint(content, len(record.headers))
    for key, value in record.headers:
        _append_nullable_bytes(content, key.encode())
        _append_nullable_bytes(content, value)
    append_varint(target, len(content))
    target += content


def _append_nullable_bytes(target: bytearray, value: bytes | None) -> None:
    if value is None:
        append_varint(target, -1)
    else:
        append_varint(target, len(value))
        target += value
