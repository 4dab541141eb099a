"""Read and write Kafka's primitive types one by one, for cold paths: group and metadata records.

Requests and responses go through generated code instead. Every read is checked against the end of
the buffer: what does not fit raises CorruptRecord.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, TypeVar

from headrace.model.errors import CorruptRecord
from headrace.records.varint import (
    VARLONG_BYTES_MAX,
    append_uvarint,
    append_varint,
    read_uvarint,
    read_varint,
    read_varlong,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

Item = TypeVar("Item")

UUID_SIZE = 16
_INT8 = struct.Struct(">b")
_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")
_INT64 = struct.Struct(">q")
_FLOAT64 = struct.Struct(">d")


class Reader:
    """Takes values from a buffer, one after the other."""

    def __init__(self, buffer: bytes | bytearray | memoryview, position: int = 0) -> None:
        self.buffer = buffer
        self.position = position

    @property
    def remaining(self) -> int:
        return len(self.buffer) - self.position

    def raise_if_remaining(self) -> None:
        if self.remaining:
            raise CorruptRecord(f"{self.remaining} bytes are left after the last field")

    def raw(self, size: int) -> bytes:
        if not 0 <= size <= self.remaining:
            raise CorruptRecord(f"a field claims {size} bytes, {self.remaining} are left")
        start = self.position
        self.position += size
        return bytes(self.buffer[start : self.position])

    def _unpack(self, form: struct.Struct) -> int:
        if form.size > self.remaining:
            raise CorruptRecord(f"a field takes {form.size} bytes, {self.remaining} are left")
        (value,) = form.unpack_from(self.buffer, self.position)
        self.position += form.size
        return int(value)

    def boolean(self) -> bool:
        return self._unpack(_INT8) != 0

    def int8(self) -> int:
        return self._unpack(_INT8)

    def int16(self) -> int:
        return self._unpack(_INT16)

    def int32(self) -> int:
        return self._unpack(_INT32)

    def int64(self) -> int:
        return self._unpack(_INT64)

    def float64(self) -> float:
        (value,) = _FLOAT64.unpack(self.raw(_FLOAT64.size))
        return float(value)

    def uuid(self) -> bytes:
        return self.raw(UUID_SIZE)

    def uvarint(self) -> int:
        value, self.position = read_uvarint(self.buffer, self.position)
        return value

    def uvarlong(self) -> int:
        value, self.position = read_uvarint(self.buffer, self.position, VARLONG_BYTES_MAX)
        return value

    def varint(self) -> int:
        value, self.position = read_varint(self.buffer, self.position)
        return value

    def varlong(self) -> int:
        value, self.position = read_varlong(self.buffer, self.position)
        return value

    def nullable_string(self) -> str | None:
        return _maybe_text(self._nullable(self.int16()))

    def string(self) -> str:
        return _not_null(self.nullable_string())

    def nullable_binary(self) -> bytes | None:
        return self._nullable(self.int32())

    def binary(self) -> bytes:
        return _not_null(self.nullable_binary())

    def compact_nullable_string(self) -> str | None:
        return _maybe_text(self._nullable(self.uvarint() - 1))

    def compact_string(self) -> str:
        return _not_null(self.compact_nullable_string())

    def compact_nullable_binary(self) -> bytes | None:
        return self._nullable(self.uvarint() - 1)

    def compact_binary(self) -> bytes:
        return _not_null(self.compact_nullable_binary())

    def nullable_array(self, read_item: Callable[[], Item]) -> list[Item] | None:
        return self._items(self.int32(), read_item)

    def array(self, read_item: Callable[[], Item]) -> list[Item]:
        return _not_null(self.nullable_array(read_item))

    def compact_nullable_array(self, read_item: Callable[[], Item]) -> list[Item] | None:
        return self._items(self.uvarint() - 1, read_item)

    def compact_array(self, read_item: Callable[[], Item]) -> list[Item]:
        return _not_null(self.compact_nullable_array(read_item))

    def tagged_fields(self) -> dict[int, bytes]:
        """All tagged fields, known or not, as tag -> bytes."""
        fields: dict[int, bytes] = {}
        count = self.uvarint()
        if count > self.remaining:
            raise CorruptRecord(f"{count} tagged fields in {self.remaining} bytes")
        for _ in range(count):
            tag = self.uvarint()
            fields[tag] = self.raw(self.uvarint())
        return fields

    def _nullable(self, length: int) -> bytes | None:
        return None if length == -1 else self.raw(length)

    def _items(self, count: int, read_item: Callable[[], Item]) -> list[Item] | None:
        if count == -1:
            return None
        # Every item takes at least a byte, so a false count cannot make us build a huge list.
        if not 0 <= count <= self.remaining:
            raise CorruptRecord(f"an array claims {count} items in {self.remaining} bytes")
        return [read_item() for _ in range(count)]


class Writer:
    """Collects values; every method returns the writer, so calls can be chained."""

    def __init__(self) -> None:
        self.buffer = bytearray()

    def to_bytes(self) -> bytes:
        return bytes(self.buffer)

    def raw(self, data: bytes | bytearray | memoryview) -> Writer:
        self.buffer += data
        return self

    def boolean(self, value: bool) -> Writer:
        return self.raw(b"\x01" if value else b"\x00")

    def int8(self, value: int) -> Writer:
        return self.raw(_INT8.pack(value))

    def int16(self, value: int) -> Writer:
        return self.raw(_INT16.pack(value))

    def int32(self, value: int) -> Writer:
        return self.raw(_INT32.pack(value))

    def int64(self, value: int) -> Writer:
        return self.raw(_INT64.pack(value))

    def float64(self, value: float) -> Writer:
        return self.raw(_FLOAT64.pack(value))

    def uuid(self, value: bytes) -> Writer:
        assert len(value) == UUID_SIZE, f"a UUID takes {UUID_SIZE} bytes, not {len(value)}"
        return self.raw(value)

    def uvarint(self, value: int) -> Writer:
        append_uvarint(self.buffer, value)
        return self

    def varint(self, value: int) -> Writer:
        append_varint(self.buffer, value)
        return self

    def varlong(self, value: int) -> Writer:
        append_varint(self.buffer, value)
        return self

    def string(self, value: str | None) -> Writer:
        if value is None:
            return self.int16(-1)
        data = value.encode()
        return self.int16(len(data)).raw(data)

    def binary(self, value: bytes | None) -> Writer:
        return self.int32(-1) if value is None else self.int32(len(value)).raw(value)

    def compact_string(self, value: str | None) -> Writer:
        return self.compact_binary(None if value is None else value.encode())

    def compact_binary(self, value: bytes | None) -> Writer:
        return self.uvarint(0) if value is None else self.uvarint(len(value) + 1).raw(value)

    def array(self, items: Sequence[Item] | None, write_item: Callable[[Item], object]) -> Writer:
        self.int32(-1 if items is None else len(items))
        return self._each(items, write_item)

    def compact_array(
        self, items: Sequence[Item] | None, write_item: Callable[[Item], object]
    ) -> Writer:
        self.uvarint(0 if items is None else len(items) + 1)
        return self._each(items, write_item)

    def tagged_fields(self, fields: Mapping[int, bytes] | None = None) -> Writer:
        """Tagged fields in rising order of their tags, as the protocol demands."""
        chosen = fields or {}
        self.uvarint(len(chosen))
        for tag in sorted(chosen):
            self.uvarint(tag).uvarint(len(chosen[tag])).raw(chosen[tag])
        return self

    def _each(self, items: Sequence[Item] | None, write_item: Callable[[Item], object]) -> Writer:
        for item in items or ():
            write_item(item)
        return self


def _maybe_text(data: bytes | None) -> str | None:
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise CorruptRecord("a string is not UTF-8") from error


def _not_null(value: Item | None) -> Item:
    if value is None:
        raise CorruptRecord("a field that must not be null is null")
    return value
