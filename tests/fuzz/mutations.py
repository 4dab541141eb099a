"""Random changes of bytes: the kinds that have found something in parsers before."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

CHANGES_MAX = 4
RUN_BYTES_MAX = 64
NUMBERS = (0, 1, -1, 2, 7, 127, 128, 255, 32_767, -32_768, 65_535, 2**31 - 1, -(2**31), 2**32 - 1)
HOSTILE_RUNS = (
    b"\xff\xff\xff\xff\x0f",  # the largest unsigned varint
    b"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80",  # a varint without end
    b"\x7f\xff\xff\xff\xff\xff\xff\xff",
    b"\x80\x00\x00\x00\x00\x00\x00\x00",
    b"-1",
    b"99999999999999999999",
    b"\xc3\x28",  # no UTF-8
)


def mutate(chance: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """``data`` after a few changes; pieces may come from ``others``."""
    changed = bytearray(data)
    for _ in range(chance.randint(1, CHANGES_MAX)):
        chance.choice(_CHANGES)(chance, changed, others)
    return bytes(changed)


def _place(chance: Random, data: bytearray) -> int:
    return chance.randrange(len(data) + 1)


def _flip_a_bit(chance: Random, data: bytearray, _: Sequence[bytes]) -> None:
    if data:
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def _set_a_byte(chance: Random, data: bytearray, _: Sequence[bytes]) -> None:
    if data:
        data[chance.randrange(len(data))] = chance.randrange(256)


def _set_a_number(chance: Random, data: bytearray, _: Sequence[bytes]) -> None:
    form, bits = chance.choice(((">B", 8), (">H", 16), (">I", 32), (">Q", 64)))
    place, number = _place(chance, data), chance.choice(NUMBERS)
    value = struct.pack(form, number & ((1 << bits) - 1))
    data[place : place + len(value)] = value


def _add_to_a_byte(chance: Random, data: bytearray, _: Sequence[bytes]) -> None:
    if data:
        place = chance.randrange(len(data))
        data[place] = (data[place] + chance.choice((-16, -2, -1, 1, 2, 16))) & 0xFF


def _put_a_hostile_run(chance: Random, data: bytearray, _: Sequence[bytes]) -> None:
    place, run = _place(chance, data), chance.choice(HOSTILE_RUNS)
    kept = place + len(run) if chance.random() < 0.5 else place
    data[place:kept] = run


def _insert(chance: Random, data: bytearray, _: Sequence[bytes]) -> None:
    place = _place(chance, data)
    data[place:place] = chance.randbytes(chance.randint(1, 8))


def _remove(chance: Random, data: bytearray, _: Sequence[bytes]) -> None:
    place = _place(chance, data)
    del data[place : place + chance.randint(1, RUN_BYTES_MAX)]


def _cut(chance: Random, data: bytearray, _: Sequence[bytes]) -> None:
    del data[_place(chance, data) :]


def _repeat(chance: Random, data: bytearray, _: Sequence[bytes]) -> None:
    start = _place(chance, data)
    data[start:start] = data[start : start + chance.randint(1, RUN_BYTES_MAX)]


def _splice(chance: Random, data: bytearray, others: Sequence[bytes]) -> None:
    if others:
        other = chance.choice(others)
        start = chance.randrange(len(other) + 1)
        data[_place(chance, data) :] = other[start:]


_CHANGES: tuple[Callable[[Random, bytearray, Sequence[bytes]], None], ...] = (
    _flip_a_bit,
    _flip_a_bit,
    _set_a_byte,
    _set_a_number,
    _set_a_number,
    _add_to_a_byte,
    _put_a_hostile_run,
    _insert,
    _remove,
    _cut,
    _repeat,
    _splice,
)
