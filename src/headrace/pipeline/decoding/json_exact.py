"""JSON record by record: for shapes with objects inside arrays, and where each record is to be
validated against its JSON Schema. Some ten times slower than ``JsonDecoder``, with the same result.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from headrace.pipeline.decoding.json_shape import ELEMENT, JsonShape, Path
from headrace.pipeline.decoding.model import BadValue, DecodedValues

if TYPE_CHECKING:
    from collections.abc import Callable

REASON_CHARACTERS_MAX = 200
_INTEGER_BITS = {pa.int32(): 32, pa.int64(): 64}


class NotFitting(ValueError):
    """A value is not what the shape says."""


class ExactJsonDecoder:
    """``validate`` gets each parsed record and returns what is wrong with it, or None."""

    def __init__(
        self, shape: JsonShape, validate: Callable[[Any], str | None] | None = None
    ) -> None:
        self._shape = shape
        self._kind = pa.struct(list(shape.fields))
        self._validate = validate

    def schema(self) -> pa.Schema:
        return self._shape.fields

    def decode(self, values: pa.BinaryArray) -> DecodedValues:
        rows, good, bad = [], [], []
        for index, value in enumerate(values.to_pylist()):
            try:
                rows.append(None if value is None else self._row(value))
                good.append(index)
            except (ValueError, OverflowError, RecursionError) as error:
                # JSON's and Unicode's are ValueErrors; a number of 400 digits is no float.
                bad.append(BadValue(index, str(error)[:REASON_CHARACTERS_MAX]))
        columns = pa.RecordBatch.from_arrays(
            pa.array(rows, self._kind).flatten(), schema=self._shape.fields
        )
        return DecodedValues(columns, pa.array(good, pa.int64()) if bad else None, bad)

    def _row(self, value: bytes) -> Any:
        content = json.loads(value)
        if content is not None and not isinstance(content, dict):
            raise NotFitting(f"expected a JSON object, found {type(content).__name__}")
        problem = None if self._validate is None else self._validate(content)
        if problem is not None:
            raise NotFitting(problem)
        return self._taken(content, self._kind, ())

    def _taken(self, value: Any, kind: pa.DataType, path: Path) -> Any:
        """The value as Arrow takes it."""
        if value is None:
            return None
        if self._shape.takes_all(path, kind):
            is_text = isinstance(value, str)
            return _text(value) if is_text else json.dumps(value, separators=(",", ":"))
        if pa.types.is_struct(kind):
            return self._object(_of(value, dict, path, kind), kind, path)
        if pa.types.is_list(kind):
            below = (*path, ELEMENT)
            elements = _of(value, list, path, kind)
            return [self._taken(element, kind.value_type, below) for element in elements]
        return _scalar(value, kind, path)

    def _object(self, value: dict[str, Any], kind: pa.DataType, path: Path) -> dict[str, Any]:
        result = {}
        for field in kind:
            below = (*path, field.name)
            inner = value.get(field.name)
            if inner is None and below in self._shape.required:
                raise NotFitting(f"field {'.'.join(below)} is missing")
            result[field.name] = self._taken(inner, field.type, below)
        return result


def _scalar(value: Any, kind: pa.DataType, path: Path) -> Any:
    if pa.types.is_boolean(kind):
        return _of(value, bool, path, kind)
    if pa.types.is_integer(kind):
        limit = 1 << (_INTEGER_BITS[kind] - 1)
        if not -limit <= _of(value, int, path, kind) < limit:
            raise NotFitting(f"field {'.'.join(path)}: the value is out of range")
        return value
    if pa.types.is_floating(kind):
        number = float(_of(value, (int, float), path, kind))
        if math.isinf(number):  # a number that is too large
            raise NotFitting(f"field {'.'.join(path)}: the value is out of range")
        return number
    text = _text(_of(value, str, path, kind))
    if pa.types.is_string(kind):
        return text
    try:
        return pa.scalar(text).cast(kind).as_py()
    except pa.ArrowInvalid:
        raise NotFitting(f"field {'.'.join(path)}: {text[:50]!r} is no {kind}") from None


def _text(value: str) -> str:
    """UnicodeEncodeError for half of a character, which JSON can escape and no column can hold."""
    value.encode()
    return value


def _of(value: Any, wanted: Any, path: Path, kind: pa.DataType) -> Any:
    is_wrong_boolean = isinstance(value, bool) and wanted is not bool
    if is_wrong_boolean or not isinstance(value, wanted):
        raise NotFitting(
            f"field {'.'.join(path)} is of type {type(value).__name__}, expected {kind}"
        )
    return value
