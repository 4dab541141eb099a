"""Compress and decompress the records of a batch, with a bound on what may come out.

A few compressed bytes can claim to hold gigabytes. So nothing here trusts a size that the data
claims: output goes into buffers that grow step by step and never beyond ``size_max``.
"""

from __future__ import annotations

import struct
import zlib
from enum import IntEnum
from typing import TYPE_CHECKING

import cramjam

from headrace.model.errors import CorruptRecord, RecordTooLarge, UnsupportedCompression

if TYPE_CHECKING:
    from collections.abc import Callable

Buffer = bytes | bytearray | memoryview


class OutputTooSmall(Exception):
    """The records are larger than the memory that is there for them. Offer more."""


class Compression(IntEnum):
    """The lowest three bits of a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


XERIAL_MAGIC = b"\x82SNAPPY\x00"
XERIAL_HEADER = XERIAL_MAGIC + struct.pack(">ii", 1, 1)
XERIAL_BLOCK_SIZE = 32 * 1024

# Frame of independent 64 KiB blocks without checksums; the last byte is the checksum of the two
# before it. The Java consumer refuses blocks that depend on each other.
LZ4_FRAME_HEADER = bytes.fromhex("04224d18604082")
LZ4_BLOCK_SIZE = 64 * 1024
LZ4_END_MARK = bytes(4)
_LZ4_STORED = 1 << 31

GZIP_WINDOW_BITS = 31
GZIP_LEVEL_DEFAULT = 6
GZIP_PIECE_BYTES = 4096
ZSTD_LEVEL_DEFAULT = 3

OUTPUT_FIRST_GUESS = 64 * 1024
OUTPUT_GROWTH = 4

SNAPPY_RATIO_MAX = 64
"""No snappy element of two or more bytes stands for more than 64 bytes."""

_BLOCK_LENGTH = struct.Struct(">i")
_LITTLE_UINT32 = struct.Struct("<I")


def compress(codec: int, data: Buffer, level: int | None = None) -> bytes:
    """Compress as Kafka's own clients do, so that every client can read the result."""
    if codec == Compression.NONE:
        return bytes(data)
    if codec == Compression.GZIP:
        chosen = GZIP_LEVEL_DEFAULT if level is None else level
        return zlib.compress(data, chosen, GZIP_WINDOW_BITS)
    if codec == Compression.SNAPPY:
        return _compress_snappy(data)
    if codec == Compression.LZ4:
        return _compress_lz4(data) if level is None else _compress_lz4_at_level(data, level)
    if codec == Compression.ZSTD:
        chosen = ZSTD_LEVEL_DEFAULT if level is None else level
        return bytes(cramjam.zstd.compress(data, level=chosen))
    raise UnsupportedCompression(f"compression type {codec} is unknown")


def decompress(codec: int, data: Buffer, size_max: int) -> bytes:
    """Decompress at most ``size_max`` bytes: RecordTooLarge above, CorruptRecord on nonsense."""
    if codec == Compression.NONE:
        raise_if_too_large(len(data), size_max)
        return bytes(data)
    if codec == Compression.GZIP:
        return _decompress_gzip(data, size_max)
    if codec == Compression.SNAPPY:
        return _decompress_snappy(data, size_max)
    if codec == Compression.LZ4:
        return _decompress_growing(cramjam.lz4.decompress_into, data, size_max)
    if codec == Compression.ZSTD:
        return _decompress_growing(cramjam.zstd.decompress_into, data, size_max)
    raise UnsupportedCompression(f"compression type {codec} is unknown")


def decompress_into(codec: int, data: Buffer, output: memoryview) -> int:
    """Decompress to the beginning of ``output``: the size, CorruptRecord or OutputTooSmall."""
    if codec == Compression.LZ4:
        return _decompress_once(cramjam.lz4.decompress_into, data, output)
    if codec == Compression.ZSTD:
        return _decompress_once(cramjam.zstd.decompress_into, data, output)
    try:
        records = decompress(codec, data, len(output))
    except RecordTooLarge as error:
        raise OutputTooSmall from error
    output[: len(records)] = records
    return len(records)


def raise_if_too_large(size: int, size_max: int) -> None:
    if size > size_max:
        raise RecordTooLarge(f"the records take more than {size_max} bytes uncompressed")


# --- gzip ---------------------------------------------------------------------------------------


def _decompress_gzip(data: Buffer, size_max: int) -> bytes:
    """One or more gzip members, as Java's GZIPInputStream takes them."""
    parts: list[bytes] = []
    size = position = 0
    with memoryview(data) as view:
        while True:
            part, position = _gzip_member(view, position, size_max - size)
            size += len(part)
            parts.append(part)
            if position == len(view):
                return b"".join(parts)


def _gzip_member(view: memoryview, position: int, size_max: int) -> tuple[bytes, int]:
    """(content, position after it). The input is given in pieces: the library copies what lies
    behind the end of a member, and there may be a member every twenty bytes."""
    decompressor = zlib.decompressobj(GZIP_WINDOW_BITS)
    output = bytearray()
    while not decompressor.eof:
        piece: Buffer = decompressor.unconsumed_tail
        if not piece:
            piece = view[position : position + GZIP_PIECE_BYTES]
            position += len(piece)
            if not piece:
                raise CorruptRecord("gzip: the data is cut off")
        try:
            # One byte more than allowed is asked for: only so is "too large" told from "full".
            output += decompressor.decompress(piece, size_max - len(output) + 1)
        except zlib.error as error:
            raise CorruptRecord(f"gzip: {error}") from error
        raise_if_too_large(len(output), size_max)
    return bytes(output), position - len(decompressor.unused_data)


# --- snappy -------------------------------------------------------------------------------------


def _compress_snappy(data: Buffer) -> bytes:
    """Xerial's framing: what the Java client writes and expects."""
    output = bytearray(XERIAL_HEADER)
    with memoryview(data) as view:
        for start in range(0, len(view), XERIAL_BLOCK_SIZE):
            block = cramjam.snappy.compress_raw(view[start : start + XERIAL_BLOCK_SIZE])
            output += _BLOCK_LENGTH.pack(len(block))
            output += bytes(block)
    return bytes(output)


def _decompress_snappy(data: Buffer, size_max: int) -> bytes:
    """Xerial's framing or, as librdkafka and others send it, one raw block."""
    with memoryview(data) as view:
        if bytes(view[: len(XERIAL_MAGIC)]) != XERIAL_MAGIC:
            return _decompress_snappy_block(view, 0, size_max)
        if len(view) < len(XERIAL_HEADER):
            raise CorruptRecord("snappy: the header is cut off")
        parts: list[bytes] = []
        position, size = len(XERIAL_HEADER), 0
        while position < len(view):
            block, position = _xerial_block(view, position)
            part = _decompress_snappy_block(block, size, size_max)
            size += len(part)
            parts.append(part)
        return b"".join(parts)


def _xerial_block(view: memoryview, position: int) -> tuple[memoryview, int]:
    start = position + _BLOCK_LENGTH.size
    if start > len(view):
        raise CorruptRecord("snappy: a block's length is cut off")
    (length,) = _BLOCK_LENGTH.unpack_from(view, position)
    if length <= 0 or start + length > len(view):
        raise CorruptRecord(f"snappy: a block claims {length} bytes, {len(view) - start} are left")
    return view[start : start + length], start + length


def _decompress_snappy_block(block: memoryview, size_before: int, size_max: int) -> bytes:
    try:
        size = cramjam.snappy.decompress_raw_len(block)
        if size > SNAPPY_RATIO_MAX * len(block):
            raise CorruptRecord(f"snappy: {len(block)} bytes cannot hold {size}")
        raise_if_too_large(size_before + size, size_max)
        output = bytearray(size)
        cramjam.snappy.decompress_raw_into(block, output)
    except cramjam.DecompressionError as error:
        raise CorruptRecord(str(error)) from error
    return bytes(output)


# --- lz4 and zstd -------------------------------------------------------------------------------


def _compress_lz4(data: Buffer) -> bytes:
    output = bytearray(LZ4_FRAME_HEADER)
    with memoryview(data) as view:
        for start in range(0, len(view), LZ4_BLOCK_SIZE):
            raw = view[start : start + LZ4_BLOCK_SIZE]
            block = bytes(cramjam.lz4.compress_block(raw, store_size=False))
            if len(block) < len(raw):
                output += _LITTLE_UINT32.pack(len(block))
                output += block
            else:
                output += _LITTLE_UINT32.pack(len(raw) | _LZ4_STORED)
                output += raw
    return bytes(output + LZ4_END_MARK)


def _compress_lz4_at_level(data: Buffer, level: int) -> bytes:
    """Only the library's own framing knows levels: blocks of 64 KiB, each with a checksum."""
    compressor = cramjam.lz4.Compressor(level=level, content_checksum=False, block_linked=False)
    compressor.compress(bytes(data))
    return bytes(compressor.finish())


def _decompress_growing(
    decompress_into: Callable[[Buffer, memoryview], int], data: Buffer, size_max: int
) -> bytes:
    """Try with a small buffer, then larger ones, never above ``size_max``.

    Neither format has to state the size of its content, and a stated one may lie.
    """
    capacity = max(OUTPUT_FIRST_GUESS, OUTPUT_GROWTH * len(data))
    while True:
        capacity = min(capacity, size_max)
        with memoryview(bytearray(capacity)) as output:
            try:
                size = _decompress_once(decompress_into, data, output)
            except OutputTooSmall:
                raise_if_too_large(capacity + 1, size_max)
            else:
                return bytes(output[:size])
        capacity *= OUTPUT_GROWTH


def _decompress_once(
    decompress_into: Callable[[Buffer, memoryview], int], data: Buffer, output: memoryview
) -> int:
    try:
        return decompress_into(data, output)
    except cramjam.DecompressionError as error:
        if _is_overflow(error):
            raise OutputTooSmall from error
        raise CorruptRecord(str(error)) from error


def _is_overflow(error: Exception) -> bool:
    """The library tells a full output buffer from bad input only by this text."""
    return "failed to write whole buffer" in str(error)
