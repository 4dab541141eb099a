"""Producer snapshots, version 1: the state of all producers just before an offset.

Only the last batch of each producer is kept, as in Kafka; the offset is in the file's name.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from crc32c import crc32c

from headrace.model.errors import DamagedLog
from headrace.storage.producer_state import (
    NO_COORDINATOR_EPOCH,
    NO_OFFSET,
    SEQUENCE_MASK,
    KnownBatch,
    Producer,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

VERSION = 1
_HEAD = struct.Struct(">hI")
_COUNT = struct.Struct(">i")
_ENTRY = struct.Struct(">qhiqiqiq")
_CRC_FROM = _HEAD.size


def encode_snapshot(producers: Iterable[Producer]) -> bytes:
    """The bytes of a snapshot file."""
    entries = [_encode(producer) for producer in producers]
    body = _COUNT.pack(len(entries)) + b"".join(entries)
    return _HEAD.pack(VERSION, crc32c(body)) + body


def _encode(producer: Producer) -> bytes:
    last = producer.batches[-1] if producer.batches else None
    return _ENTRY.pack(
        producer.producer_id,
        producer.epoch,
        producer.last_sequence,
        last.last_offset if last else NO_OFFSET,
        last.last_offset - last.base_offset if last else 0,
        producer.last_timestamp_ms,
        producer.coordinator_epoch,
        producer.transaction_start,
    )


def decode_snapshot(data: bytes, path: str) -> list[Producer]:
    """The producers in a snapshot; DamagedLog if it is not whole."""
    if len(data) < _CRC_FROM + _COUNT.size:
        raise DamagedLog(f"{path}: {len(data)} bytes are too few for a snapshot")
    version, crc = _HEAD.unpack_from(data)
    if version != VERSION:
        raise DamagedLog(f"{path}: snapshot version {version}, known is {VERSION}")
    if crc32c(memoryview(data)[_CRC_FROM:]) != crc:
        raise DamagedLog(f"{path}: checksum of the snapshot is wrong")
    (count,) = _COUNT.unpack_from(data, _CRC_FROM)
    body = memoryview(data)[_CRC_FROM + _COUNT.size :]
    if len(body) != count * _ENTRY.size:
        raise DamagedLog(f"{path}: {count} entries do not fit into {len(data)} bytes")
    return [_decode(fields) for fields in _ENTRY.iter_unpack(body)]


def _decode(fields: tuple[int, ...]) -> Producer:
    producer_id, epoch, sequence, offset, delta, timestamp_ms, coordinator_epoch, start = fields
    producer = Producer(producer_id, epoch)
    producer.last_timestamp_ms = timestamp_ms
    producer.coordinator_epoch = (
        coordinator_epoch if coordinator_epoch >= 0 else NO_COORDINATOR_EPOCH
    )
    producer.transaction_start = start if start >= 0 else NO_OFFSET
    if offset >= 0:
        base_sequence = (sequence - delta) & SEQUENCE_MASK if sequence >= 0 else sequence
        producer.batches.append(
            KnownBatch(base_sequence, sequence, offset - delta, offset, timestamp_ms)
        )
        producer.next_sequence = (sequence + 1) & SEQUENCE_MASK
    return producer
