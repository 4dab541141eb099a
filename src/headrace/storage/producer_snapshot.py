"""Producer snapshots, version 1: the state of all producers just before an offset.

The offset is in the file's name. Kafka keeps the last batch of each producer. We keep all five that
a log knows again, one entry after the other, the last one last: Kafka reads the file and takes that
one, and we recognise a batch that is sent again although the broker was restarted in between.
"""

from __future__ import annotations

import struct
from collections import deque
from typing import TYPE_CHECKING

from crc32c import crc32c

from headrace.model.errors import DamagedLog
from headrace.records.header import NO_SEQUENCE
from headrace.storage.producer_state import (
    BATCHES_KEPT,
    NO_COORDINATOR_EPOCH,
    NO_OFFSET,
    SEQUENCE_MASK,
    KnownBatch,
    Producer,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

VERSION = 1
_HEAD = struct.Struct(">hI")
_COUNT = struct.Struct(">i")
_ENTRY = struct.Struct(">qhiqiqiq")
_CRC_FROM = _HEAD.size


def encode_snapshot(producers: Iterable[Producer]) -> bytes:
    """The bytes of a snapshot file."""
    entries = [entry for producer in producers for entry in _encode(producer)]
    body = _COUNT.pack(len(entries)) + b"".join(entries)
    return _HEAD.pack(VERSION, crc32c(body)) + body


def _encode(producer: Producer) -> Iterator[bytes]:
    *before, last = producer.batches or (None,)
    for batch in before:
        assert batch is not None
        yield _entry(producer, batch, batch.timestamp_ms, NO_OFFSET)
    yield _entry(producer, last, producer.last_timestamp_ms, producer.transaction_start)


def _entry(
    producer: Producer, batch: KnownBatch | None, timestamp_ms: int, transaction_start: int
) -> bytes:
    return _ENTRY.pack(
        producer.producer_id,
        producer.epoch,
        batch.last_sequence if batch else NO_SEQUENCE,
        batch.last_offset if batch else NO_OFFSET,
        batch.last_offset - batch.base_offset if batch else 0,
        timestamp_ms,
        producer.coordinator_epoch,
        transaction_start,
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
    producers: dict[int, Producer] = {}
    for fields in _ENTRY.iter_unpack(body):
        producer = _decode(fields)
        earlier = producers.get(producer.producer_id)
        if earlier is not None and earlier.epoch == producer.epoch:
            producer.batches = deque([*earlier.batches, *producer.batches], maxlen=BATCHES_KEPT)
        producers[producer.producer_id] = producer
    return list(producers.values())


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
