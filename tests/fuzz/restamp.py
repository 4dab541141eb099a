"""Make damaged batches look sound: without right checksums nothing behind them is ever reached."""

from __future__ import annotations

import struct

from crc32c import crc32c

from headrace.records.header import HEADER_SIZE, LENGTH_OVERHEAD, stamp_crc
from headrace.storage.write_ahead_log import FRAMES_FROM

_LENGTH = struct.Struct(">i")
_LENGTH_AT = 8
_MAGIC_AT = 16
MAGIC = 2
_SNAPSHOT_HEAD = struct.Struct(">hI")
_FILE_HEAD = struct.Struct(">8sQI")
_FRAME_HEAD = struct.Struct(">IIQQ")
_FRAME_CRC_FROM = 8


def restamp_batch(data: bytes) -> bytes:
    """One batch: its length, magic and checksum are set right, if there is room for them."""
    if len(data) < HEADER_SIZE:
        return data
    batch = bytearray(data)
    _LENGTH.pack_into(batch, _LENGTH_AT, len(batch) - LENGTH_OVERHEAD)
    batch[_MAGIC_AT] = MAGIC
    stamp_crc(batch, 0, len(batch))
    return bytes(batch)


def restamp_file(data: bytes) -> bytes:
    """Batch after batch: the checksum of each that is whole by its own length is set right."""
    content = bytearray(data)
    position = 0
    while position + HEADER_SIZE <= len(content):
        (length,) = _LENGTH.unpack_from(content, position + _LENGTH_AT)
        end = position + LENGTH_OVERHEAD + length
        if length < HEADER_SIZE - LENGTH_OVERHEAD or end > len(content):
            break
        stamp_crc(content, position, end)
        position = end
    return bytes(content)


def restamp_snapshot(data: bytes) -> bytes:
    """A producer snapshot: version and checksum are set right."""
    body = data[_SNAPSHOT_HEAD.size :]
    return _SNAPSHOT_HEAD.pack(1, crc32c(body)) + body


def restamp_write_ahead_log(data: bytes) -> bytes:
    """The file's head, then frame after frame, as long as they are whole."""
    content = bytearray(data)
    if len(content) < FRAMES_FROM:
        return bytes(content)
    magic, generation, _ = _FILE_HEAD.unpack_from(content)
    _FILE_HEAD.pack_into(content, 0, magic, generation, crc32c(content[: _FILE_HEAD.size - 4]))
    position = FRAMES_FROM
    while position + _FRAME_HEAD.size <= len(content):
        length, _, frame_generation, number = _FRAME_HEAD.unpack_from(content, position)
        end = position + _FRAME_HEAD.size + length
        if end > len(content) or not length:
            break
        crc = crc32c(content[position + _FRAME_CRC_FROM : end])
        _FRAME_HEAD.pack_into(content, position, length, crc, frame_generation, number)
        position = end
    return bytes(content)
