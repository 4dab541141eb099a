"""Messages of the `kio` package with made-up values, and the same values in our classes.

kio serves as the oracle. It refuses unknown error codes and times it cannot hold, so values stay
inside what it accepts. Every choice comes from the seed: a failure can be repeated.
"""

from __future__ import annotations

import dataclasses
import datetime
import io
import random
import types
import typing
import uuid
from functools import cache
from typing import Any

from kio.index import load_payload_module
from kio.schema.errors import ErrorCode
from kio.serial import entity_reader, entity_writer
from kio.static.constants import EntityType

INTEGER_BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64, "uint16": 16, "uint32": 32}
TEXTS = ("", "a", "topic-1", "größe", "x" * 126, "y" * 127, "日本" * 60, "z" * 300)
ARRAY_SIZES = (1, 1, 1, 2)
LONG_ARRAY_CHANCE = 0.3
LONG_ARRAY_SIZE = 140
TIMES_MS = (-1, 0, 1, 1500, 60_000, 2**31 - 1)
LONG_TIMES_MS = (*TIMES_MS, -(10**12), 10**13)
ERROR_CODES = tuple(ErrorCode)


@cache
def hints_of(entity: type) -> dict[str, Any]:
    return typing.get_type_hints(entity)


@cache
def kio_entity(api_key: int, version: int, direction: str) -> Any:
    module = load_payload_module(api_key, version, EntityType[direction])
    return next(
        value
        for name, value in vars(module).items()
        if name.endswith(direction.title())
        and getattr(value, "__module__", "") == module.__name__
        and value.__type__ is EntityType[direction]
    )


def kio_bytes(message: Any) -> bytes:
    buffer = io.BytesIO()
    entity_writer(type(message))(buffer, message)
    return buffer.getvalue()


def kio_message(entity: Any, data: bytes) -> Any:
    message, size = entity_reader(entity)(data, 0)
    assert size == len(data)
    return message


def split_hint(hint: Any) -> tuple[Any, bool, bool]:
    """The innermost type, whether it is an array, whether it may be None."""
    is_nullable = typing.get_origin(hint) in (types.UnionType, typing.Union)
    if is_nullable:
        hint = next(item for item in typing.get_args(hint) if item is not types.NoneType)
    if typing.get_origin(hint) is tuple:
        return typing.get_args(hint)[0], True, is_nullable
    return hint, False, is_nullable


class KioValues:
    """Makes messages; `abundance` is the chance that something optional is there.

    At 1 nothing is null or empty, and now and then one array is long enough for a longer prefix.
    """

    def __init__(self, seed: str, abundance: float) -> None:
        self._random = random.Random(seed)
        self._abundance = abundance
        self._has_long_array = abundance < 1

    def entity(self, kind: Any) -> Any:
        hints = hints_of(kind)
        values = {item.name: self._field(item, hints[item.name]) for item in fields_of(kind)}
        return kind(**values)

    def _field(self, item: dataclasses.Field[Any], hint: Any) -> Any:
        inner, is_array, is_nullable = split_hint(hint)
        is_present = self._random.random() < self._abundance
        if "tag" in item.metadata and not is_present:
            return item.default
        if is_nullable and not is_present:
            return None
        kafka_type = item.metadata.get("kafka_type")
        if not is_array:
            return self._value(kafka_type, inner)
        return self._array(kafka_type, inner) if is_present else ()

    def _array(self, kafka_type: str | None, inner: Any) -> tuple[Any, ...]:
        if not self._has_long_array and self._random.random() < LONG_ARRAY_CHANCE:
            self._has_long_array = True
            first = self._value(kafka_type, inner)
            return (first,) * LONG_ARRAY_SIZE
        size = self._random.choice(ARRAY_SIZES)
        return tuple(self._value(kafka_type, inner) for _ in range(size))

    def _value(self, kafka_type: str | None, inner: Any) -> Any:
        if kafka_type is None:
            return self.entity(inner)
        if kafka_type in INTEGER_BITS:
            return self._integer(INTEGER_BITS[kafka_type], kafka_type.startswith("u"))
        return getattr(self, f"_{kafka_type}")()

    def _integer(self, bits: int, is_unsigned: bool) -> int:
        low = 0 if is_unsigned else -(1 << bits - 1)
        high = (1 << bits) - 1 if is_unsigned else (1 << bits - 1) - 1
        return self._random.choice((low, high, 0, 1, self._random.randint(low, high)))

    def _string(self) -> str:
        return self._random.choice(TEXTS)

    def _bytes(self) -> bytes:
        return self._random.randbytes(self._random.choice((0, 1, 126, 127, 300)))

    def _records(self) -> bytes:
        return self._random.randbytes(self._random.choice((0, 1, 61, 127, 20_000)))

    def _bool(self) -> bool:
        return self._random.random() < 0.5

    def _float64(self) -> float:
        return self._random.choice((0.0, -1.5, 1e300, self._random.random()))

    def _uuid(self) -> uuid.UUID:
        return uuid.UUID(bytes=self._random.randbytes(16))

    def _error_code(self) -> ErrorCode:
        return self._random.choice(ERROR_CODES)

    def _timedelta_i32(self) -> datetime.timedelta:
        return datetime.timedelta(milliseconds=self._random.choice(TIMES_MS))

    def _timedelta_i64(self) -> datetime.timedelta:
        return datetime.timedelta(milliseconds=self._random.choice(LONG_TIMES_MS))

    def _datetime_i64(self) -> datetime.datetime:
        seconds = self._random.randint(0, 4_000_000_000)
        return datetime.datetime.fromtimestamp(seconds, tz=datetime.UTC)


@cache
def fields_of(kind: Any) -> tuple[dataclasses.Field[Any], ...]:
    return dataclasses.fields(kind)


def ours(message: Any, module: types.ModuleType, direction: str) -> Any:
    """The same message in our class, built by its constructor from this version's fields."""
    name = type(message).__name__
    our_class = getattr(module, name, None) or getattr(module, direction.title() + name)
    values = {}
    for item in fields_of(type(message)):
        value = getattr(message, item.name)
        our_name = item.name if item.name in our_class.__slots__ else f"{item.name}_ms"
        if "tag" in item.metadata and dataclasses.is_dataclass(value) and value == item.default:
            values[our_name] = None
        else:
            values[our_name] = our_value(value, item.metadata.get("kafka_type"), module, direction)
    return our_class(**values)


def our_value(value: Any, kafka_type: str | None, module: types.ModuleType, direction: str) -> Any:
    if isinstance(value, tuple):
        return [our_value(item, kafka_type, module, direction) for item in value]
    if dataclasses.is_dataclass(value):
        return ours(value, module, direction)
    if isinstance(value, datetime.timedelta):
        return round(value / datetime.timedelta(milliseconds=1))
    if isinstance(value, datetime.datetime):
        return round(value.timestamp() * 1000)
    if isinstance(value, uuid.UUID):
        return value.bytes
    if value is None and kafka_type == "uuid":
        return bytes(16)
    if value is None and kafka_type == "datetime_i64":
        return -1
    return value
