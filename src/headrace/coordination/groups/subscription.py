"""The topics in the subscription of a consumer, which is otherwise opaque to the broker.

Version 0 is a prefix of all later versions, so that is all that is read: int16 version, an array of
topic names, and whatever follows. Connect, Streams and others put their own bytes into the same
place; what does not fit is answered with None, never with an error.
"""

from __future__ import annotations

from struct import Struct
from struct import error as StructError

CONSUMER_PROTOCOL_TYPE = "consumer"
_VERSION_AND_COUNT = Struct(">hi")
_LENGTH = Struct(">h")


def maybe_subscribed_topics(metadata: bytes) -> frozenset[str] | None:
    try:
        version, count = _VERSION_AND_COUNT.unpack_from(metadata, 0)
        if version < 0 or not 0 <= count <= len(metadata):
            return None
        position = _VERSION_AND_COUNT.size
        topics = set()
        for _ in range(count):
            (length,) = _LENGTH.unpack_from(metadata, position)
            position += _LENGTH.size
            if length < 0 or position + length > len(metadata):
                return None
            topics.add(metadata[position : position + length].decode())
            position += length
    except (StructError, UnicodeDecodeError):
        return None
    return frozenset(topics)
