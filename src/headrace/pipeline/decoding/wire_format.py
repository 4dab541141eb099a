"""Confluent's wire format: a zero, the id of the schema in four bytes, then the value; in Protobuf
the place of the message in its file comes before the value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.pipeline.decoding.model import BadValue

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAGIC = 0
PREFIX_BYTES = 5
VALUE_BYTES_MAX = 2**31 - 1
INDEXES_MAX = 64
"""How deep a message may sit within others."""
VARINT_BYTES_MAX = 5

FIRST_MESSAGE = (0,)
_ID_PLACES = np.array([1 << 24, 1 << 16, 1 << 8, 1], np.int64)


class Framed(NamedTuple):
    """Values of one schema, and where they are in the array."""

    schema_id: int
    indices: NDArray[np.int64]


class MessageBodies(NamedTuple):
    """Values of one message type without their prefix, and where they are in the array."""

    message: tuple[int, ...]
    indices: NDArray[np.int64]
    bodies: pa.BinaryArray


def group_by_schema(values: pa.BinaryArray) -> tuple[list[Framed], list[BadValue]]:
    """In order of appearance, and the values that have no prefix. Nulls are in no group."""
    if not len(values):
        return [], []
    starts, lengths = _spans(values)
    is_there = values.is_valid().to_numpy(zero_copy_only=False)
    is_long = lengths >= PREFIX_BYTES
    bad = [
        BadValue(index, f"{lengths[index]} bytes are too short for a schema id")
        for index in np.flatnonzero(is_there & ~is_long).tolist()
    ]
    indices = np.flatnonzero(is_there & is_long)
    prefixes = _data(values)[starts[indices, None] + np.arange(PREFIX_BYTES)]
    is_framed = prefixes[:, 0] == MAGIC
    bad += [
        BadValue(index, f"the first byte is {first}, not 0: there is no schema id")
        for index, first in zip(indices[~is_framed].tolist(), prefixes[~is_framed, 0], strict=True)
    ]
    return _grouped(prefixes[is_framed, 1:] @ _ID_PLACES, indices[is_framed]), bad


def _grouped(ids: NDArray[np.int64], indices: NDArray[np.int64]) -> list[Framed]:
    if len(ids) and (ids == ids[0]).all():  # nearly always
        return [Framed(int(ids[0]), indices)]
    _, first = np.unique(ids, return_index=True)
    return [Framed(int(ids[place]), indices[ids == ids[place]]) for place in sorted(first)]


def without_prefix(values: pa.BinaryArray, prefix_bytes: int = PREFIX_BYTES) -> pa.BinaryArray:
    # Without an end, Arrow takes the largest number for it and multiplies that by the rows.
    return pc.binary_slice(values, prefix_bytes, VALUE_BYTES_MAX)


def group_by_message(values: pa.BinaryArray) -> tuple[list[MessageBodies], list[BadValue]]:
    """For values of Protobuf that have a prefix, and none of which is null."""
    starts, lengths = _spans(values)
    is_long = bool((lengths > PREFIX_BYTES).all())
    if is_long and not _data(values)[starts + PREFIX_BYTES].any():  # nearly always
        bodies = without_prefix(values, PREFIX_BYTES + 1)
        return [MessageBodies(FIRST_MESSAGE, np.arange(len(values)), bodies)], []
    groups: dict[tuple[int, ...], tuple[list[int], list[bytes]]] = {}
    bad = []
    for index, payload in enumerate(values.to_pylist()):
        try:
            message, position = message_indexes(payload)
        except ValueError as error:
            bad.append(BadValue(index, str(error)))
            continue
        indices, rests = groups.setdefault(message, ([], []))
        indices.append(index)
        rests.append(payload[position:])
    return [
        MessageBodies(message, np.array(indices, np.int64), pa.array(rests, pa.binary()))
        for message, (indices, rests) in groups.items()
    ], bad


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


def _spans(values: pa.BinaryArray) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Where each value begins in the array's data, and how long it is."""
    every = np.frombuffer(values.buffers()[1], np.int32)
    offsets = every[values.offset : values.offset + len(values) + 1]
    return offsets[:-1], np.diff(offsets)


def _data(values: pa.BinaryArray) -> NDArray[np.uint8]:
    return np.frombuffer(values.buffers()[2] or b"", np.uint8)
