"""Who sent a record and as which number, written into the record itself with a checksum over all.

A reader needs nothing but the record to know whether it is what was sent. A deletion marker has no
value: its stamp travels in a header.
"""

from __future__ import annotations

import struct
from typing import NamedTuple
from zlib import crc32

_IDENTITY = struct.Struct(">IQ")
_STAMP = struct.Struct(">IQI")
STAMP_BYTES = _STAMP.size


class Stamp(NamedTuple):
    """The lane names producer, topic and partition; see ``History``."""

    lane: int
    number: int


def stamped(stamp: Stamp, body: bytes = b"", key: bytes | None = None) -> bytes:
    """The value to send: the stamp, then ``body``."""
    identity = _IDENTITY.pack(stamp.lane, stamp.number)
    return _STAMP.pack(stamp.lane, stamp.number, _checksum(identity, body, key)) + body


def stamp_of(value: bytes, key: bytes | None = None) -> Stamp | None:
    """None if this is not, byte for byte, what ``stamped`` returned for this key."""
    if len(value) < STAMP_BYTES:
        return None
    lane, number, checksum = _STAMP.unpack_from(value)
    identity, body = value[: _IDENTITY.size], value[STAMP_BYTES:]
    return Stamp(lane, number) if checksum == _checksum(identity, body, key) else None


def _checksum(identity: bytes, body: bytes, key: bytes | None) -> int:
    checksum = crc32(body, crc32(identity))
    return checksum if key is None else crc32(key, checksum)
