"""Variable-length integers, as protocol buffers have them: seven bits per byte, least first.

Lengths and deltas inside a record are zig-zag coded (``varint``, ``varlong``); compact protocol
fields are unsigned (``uvarint``).
"""

from __future__ import annotations

from headrace.model.errors import CorruptRecord

Buffer = bytes | bytearray | memoryview

VARINT_BYTES_MAX = 5
VARLONG_BYTES_MAX = 10

_INT32_MASK = (1 << 32) - 1
_INT64_MASK = (1 << 64) - 1


def read_uvarint(
    buffer: Buffer, position: int, bytes_max: int = VARINT_BYTES_MAX
) -> tuple[int, int]:
    """Return (value, position after it)."""
    value = shift = 0
    for index in range(position, min(position + bytes_max, len(buffer))):
        byte = buffer[index]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, index + 1
        shift += 7
    if position + bytes_max <= len(buffer):
        raise CorruptRecord(f"a varint at byte {position} is longer than {bytes_max} bytes")
    raise CorruptRecord(f"a varint at byte {position} is cut off")


def read_varint(buffer: Buffer, position: int) -> tuple[int, int]:
    """A zig-zag integer of 32 bits."""
    value, position = read_uvarint(buffer, position)
    value &= _INT32_MASK
    return (value >> 1) ^ -(value & 1), position


def read_varlong(buffer: Buffer, position: int) -> tuple[int, int]:
    """A zig-zag integer of 64 bits."""
    value, position = read_uvarint(buffer, position, VARLONG_BYTES_MAX)
    value &= _INT64_MASK
    return (value >> 1) ^ -(value & 1), position


def wrap_int64(value: int) -> int:
    """What 64-bit arithmetic makes of a sum or difference that does not fit.

    Timestamps may lie further apart than a delta can say; other implementations wrap both ways,
    and so get them back.
    """
    value &= _INT64_MASK
    return value - (1 << 64) if value >> 63 else value


def uvarint_bytes(value: int) -> bytes:
    if 0 <= value < _SHORT_VALUES:
        return _SHORT[value]
    return _uvarint_bytes(value)


def _uvarint_bytes(value: int) -> bytes:
    target = bytearray()
    append_uvarint(target, value)
    return bytes(target)


def varint_bytes(value: int) -> bytes:
    """Zig-zag, of a number that is not negative."""
    if 0 <= value < _SHORT_VALUES // 2:
        return _SHORT[value << 1]
    return _uvarint_bytes(value << 1)


def append_uvarint(target: bytearray, value: int) -> None:
    assert value >= 0, "an unsigned varint cannot hold a negative number"
    while value > 0x7F:
        target.append(value & 0x7F | 0x80)
        value >>= 7
    target.append(value)


def append_varint(target: bytearray, value: int) -> None:
    """Zig-zag; serves 32 and 64 bits alike."""
    if 0 <= value < 64:
        target.append(value << 1)
        return
    append_uvarint(target, value << 1 if value >= 0 else (-value << 1) - 1)


_SHORT_VALUES = 1_024
_SHORT = [_uvarint_bytes(value) for value in range(_SHORT_VALUES)]
"""Lengths of names, and of most records of coordinators twice."""
