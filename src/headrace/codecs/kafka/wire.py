"""Primitives behind the generated codecs: variable-length integers and tagged fields.

The generated code reads one-byte varints by itself; what is here is the rest, the cold paths.
Reading past the end raises IndexError, which the generated decoders turn into MalformedMessage.
"""

from __future__ import annotations

import struct
from collections.abc import Sized
from typing import TypeAlias

from headrace.codecs.kafka.errors import MalformedMessage

Buffer: TypeAlias = bytes | bytearray | memoryview
Records: TypeAlias = Sized
"""The records of a partition: bytes, or anything with a length that the transport can send."""
Chunk: TypeAlias = Sized

DECODING_ERRORS = (struct.error, IndexError, UnicodeDecodeError)
UVARINT_BYTES_MAX = 5
UVARINT_MAX = 2**32 - 1
UVARINTS = tuple(bytes((value,)) for value in range(128))
ZERO_UUID = bytes(16)

new = object.__new__


def read_uvarint_rest(buffer: Buffer, position: int, first: int) -> tuple[int, int]:
    """Goes on after a first byte above 127; gives the value and the position behind it."""
    byte = buffer[position]
    if byte < 128:
        return first & 127 | byte << 7, position + 1
    value = first & 127 | (byte & 127) << 7
    for shift in range(14, 7 * UVARINT_BYTES_MAX, 7):
        position += 1
        byte = buffer[position]
        value |= (byte & 127) << shift
        if byte < 128:
            if value > UVARINT_MAX:
                raise MalformedMessage("a variable-length integer exceeds 32 bits")
            return value, position + 1
    raise MalformedMessage("a variable-length integer is longer than five bytes")


def read_uvarint(buffer: Buffer, position: int) -> tuple[int, int]:
    first = buffer[position]
    if first < 128:
        return first, position + 1
    return read_uvarint_rest(buffer, position + 1, first)


def read_tag_count(buffer: Buffer, position: int, first: int) -> tuple[int, int]:
    """How many tagged fields follow; each takes at least two bytes."""
    count = first
    if count > 127:
        count, position = read_uvarint_rest(buffer, position, first)
    if count * 2 > len(buffer) - position:
        raise MalformedMessage("more tagged fields are claimed than there is")
    return count, position


def read_tag(buffer: Buffer, position: int) -> tuple[int, int, int]:
    """The tag, the position behind the field, and the position of its value."""
    tag, position = read_uvarint(buffer, position)
    size, position = read_uvarint(buffer, position)
    if size > len(buffer) - position:
        raise MalformedMessage("a tagged field is larger than what is left")
    return tag, position + size, position


def skip_tagged_fields(buffer: Buffer, position: int, first: int) -> int:
    """The position behind tagged fields of which none is known (KIP-482: they are ignored)."""
    count, position = read_tag_count(buffer, position, first)
    for _ in range(count):
        _, position, _ = read_tag(buffer, position)
    return position


def encode_uvarint(value: int) -> bytes:
    if value < 128:
        return UVARINTS[value]
    if value < 16384:
        return bytes((value & 127 | 128, value >> 7))
    if value < 2097152:
        return bytes((value & 127 | 128, value >> 7 & 127 | 128, value >> 14))
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def encode_tag(tag: int, payload: bytes) -> bytes:
    return b"%b%b%b" % (encode_uvarint(tag), encode_uvarint(len(payload)), payload)


def encode_tagged_fields(fields: list[bytes]) -> bytes:
    return encode_uvarint(len(fields)) + b"".join(fields)
