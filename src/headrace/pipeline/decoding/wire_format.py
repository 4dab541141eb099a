"""Confluent's wire format: a zero, the id of the schema in four bytes, then the value; in Protobuf
the place of the message in its file comes before the value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

MAGIC = 0
PREFIX_BYTES = 5
INDEXES_MAX = 64
"""How deep a message may sit within others."""
VARINT_BYTES_MAX = 5

FIRST_MESSAGE = (0,)


class Framed(NamedTuple):
    """Values of one schema, and where they are in the array."""

    schema_id: int
    indices: list[int]


class Unframed(NamedTuple):
    """A value without a prefix."""

    index: int
    reason: str


def group_by_schema(values: pa.BinaryArray) -> tuple[list[Framed], list[Unframed]]:
    """Nulls are in no group."""
    payloads = values.to_pylist()
    groups: dict[int, list[int]] = {}
    unframed = []
    for index, payload in enumerate(payloads):
        if payload is None:
            continue
        if len(payload) < PREFIX_BYTES:
            unframed.append(Unframed(index, f"{len(payload)} bytes are too short for a schema id"))
        elif payload[0] != MAGIC:
            reason = f"the first byte is {payload[0]}, not 0: there is no schema id"
            unframed.append(Unframed(index, reason))
        else:
            groups.setdefault(int.from_bytes(payload[1:PREFIX_BYTES]), []).append(index)
    return [Framed(schema_id, indices) for schema_id, indices in groups.items()], unframed


def only_schema(values: pa.BinaryArray) -> int | None:
    """The id if all values have the same, as they nearly always do; then nobody need group them."""
    if values.null_count or not len(values):
        return None
    offsets = np.frombuffer(values.buffers()[1], np.int32)[
        values.offset : values.offset + len(values) + 1
    ]
    if int(np.diff(offsets).min()) < PREFIX_BYTES:
        return None
    data = np.frombuffer(values.buffers()[2], np.uint8)
    prefixes = data[offsets[:-1, None] + np.arange(PREFIX_BYTES)]
    if prefixes[0, 0] != MAGIC or (prefixes != prefixes[0]).any():
        return None
    return int.from_bytes(prefixes[0, 1:].tobytes())


def message_indexes(payload: bytes) -> tuple[tuple[int, ...], int]:
    """Which message of the file it is, and where the message begins; ValueError if broken."""
    count, position = _varint(payload, PREFIX_BYTES)
    if count == 0:
        return FIRST_MESSAGE, position
    if not 0 < count <= INDEXES_MAX:
        raise ValueError(f"a message that sits {count} deep")
    indexes = []
    for _ in range(count):
        index, position = _varint(payload, position)
        indexes.append(index)
    return tuple(indexes), position


def _varint(payload: bytes, position: int) -> tuple[int, int]:
    """A zigzag number and the position after it."""
    result = 0
    for count in range(VARINT_BYTES_MAX):
        if position + count >= len(payload):
            raise ValueError("the indexes of the message are cut off")
        byte = payload[position + count]
        result |= (byte & 0x7F) << (7 * count)
        if byte < 0x80:
            return (result >> 1) ^ -(result & 1), position + count + 1
    raise ValueError("an index of the message is too long")
