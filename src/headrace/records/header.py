"""The 61 bytes in front of every record batch (magic 2): read, check and stamp them.

The checksum covers everything from the attributes on. Base offset and leader epoch lie before it,
so the broker stamps both in place without touching the rest of the batch.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

from crc32c import crc32c

from headrace.model.errors import CorruptRecord

if TYPE_CHECKING:
    from collections.abc import Iterator

Buffer = bytes | bytearray | memoryview

HEADER = struct.Struct(">qiiBIhiqqqhii")
HEADER_SIZE = 61
LENGTH_OVERHEAD = 12
"""Base offset and length: the bytes that ``batch_length`` does not count."""
LENGTH_MIN = HEADER_SIZE - LENGTH_OVERHEAD
MAGIC = 2

LENGTH_POSITION = 8
LEADER_EPOCH_POSITION = 12
MAGIC_POSITION = 16
CRC_POSITION = 17
ATTRIBUTES_POSITION = 21
LAST_OFFSET_DELTA_POSITION = 23
BASE_TIMESTAMP_POSITION = 27
MAX_TIMESTAMP_POSITION = 35
RECORD_COUNT_POSITION = 57

COMPRESSION_MASK = 7
LOG_APPEND_TIME = 8
TRANSACTIONAL = 16
CONTROL = 32
DELETE_HORIZON = 64

NO_TIMESTAMP = -1
NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
NO_SEQUENCE = -1

_SEQUENCE_COUNT = 1 << 31
_INT64 = struct.Struct(">q")
_INT32 = struct.Struct(">i")
_INT16 = struct.Struct(">h")
_UINT32 = struct.Struct(">I")


class BatchHeader(NamedTuple):
    """The fields of a batch header, in the order in which they lie on disk."""

    base_offset: int
    batch_length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size_bytes(self) -> int:
        """Size of the whole batch, header included."""
        return self.batch_length + LENGTH_OVERHEAD

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def last_sequence(self) -> int:
        """Sequences wrap around after 2**31 - 1."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return (self.base_sequence + self.last_offset_delta) % _SEQUENCE_COUNT

    @property
    def compression(self) -> int:
        return self.attributes & COMPRESSION_MASK

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL)

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def is_log_append_time(self) -> bool:
        return bool(self.attributes & LOG_APPEND_TIME)

    @property
    def has_producer(self) -> bool:
        return self.producer_id != NO_PRODUCER_ID

    @property
    def delete_horizon_ms(self) -> int | None:
        """When tombstones in this batch may go; None until compaction has decided it."""
        return self.base_timestamp if self.attributes & DELETE_HORIZON else None


def read_header(buffer: Buffer, position: int = 0) -> BatchHeader:
    """Unpack the header at ``position``; nothing is checked but that it is all there."""
    try:
        return BatchHeader._make(HEADER.unpack_from(buffer, position))
    except struct.error as error:
        raise CorruptRecord(
            f"a batch header takes {HEADER_SIZE} bytes, {len(buffer) - position} are left"
        ) from error


def stamp(
    buffer: bytearray | memoryview, position: int, base_offset: int, leader_epoch: int
) -> None:
    """Give a batch its place in the log. The checksum stays valid."""
    _INT64.pack_into(buffer, position, base_offset)
    _INT32.pack_into(buffer, position + LEADER_EPOCH_POSITION, leader_epoch)


def stamp_log_append_time(buffer: bytearray | memoryview, position: int, now_ms: int) -> None:
    """Make ``now_ms`` the timestamp of all records (KIP-32), and renew the checksum."""
    header = read_header(buffer, position)
    _INT16.pack_into(buffer, position + ATTRIBUTES_POSITION, header.attributes | LOG_APPEND_TIME)
    _INT64.pack_into(buffer, position + MAX_TIMESTAMP_POSITION, now_ms)
    stamp_crc(buffer, position, header.size_bytes)


def stamp_crc(buffer: bytearray | memoryview, position: int, size_bytes: int) -> None:
    """Compute the checksum of a batch and write it into the header."""
    covered = memoryview(buffer)[position + ATTRIBUTES_POSITION : position + size_bytes]
    _UINT32.pack_into(buffer, position + CRC_POSITION, crc32c(covered))


def crc_is_valid(buffer: Buffer, position: int, size_bytes: int) -> bool:
    """Whether the whole batch is there and its checksum is right."""
    if size_bytes < HEADER_SIZE or position + size_bytes > len(buffer):
        return False
    (expected,) = _UINT32.unpack_from(buffer, position + CRC_POSITION)
    covered = memoryview(buffer)[position + ATTRIBUTES_POSITION : position + size_bytes]
    return bool(crc32c(covered) == expected)


def batches(buffer: Buffer, start: int = 0) -> Iterator[tuple[int, BatchHeader]]:
    """Walk whole batches as (position, header); stop at a partial tail.

    Checksums are not verified here. A length or magic that no batch can have raises CorruptRecord.
    """
    position, end = start, len(buffer)
    while position + HEADER_SIZE <= end:
        header = read_header(buffer, position)
        raise_if_impossible(header, position)
        if position + header.size_bytes > end:
            return
        yield position, header
        position += header.size_bytes


def raise_if_impossible(header: BatchHeader, position: int) -> None:
    """CorruptRecord where the bytes at ``position`` cannot be the header of a batch."""
    if header.batch_length < LENGTH_MIN:
        raise CorruptRecord(
            f"batch at byte {position} claims a length of {header.batch_length},"
            f" the least is {LENGTH_MIN}"
        )
    if header.magic != MAGIC:
        raise CorruptRecord(f"batch at byte {position} has magic {header.magic}, not {MAGIC}")
