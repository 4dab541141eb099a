"""Avro's types as Arrow's, and what to do with a value of each.

What Arrow or the tables cannot hold (unions of several types, types that contain themselves)
becomes text: its JSON.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from headrace.model.errors import InvalidConfig
from headrace.pipeline.decoding.storable import MOMENT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Schema = Any
"""A parsed Avro schema: a name, a list (union) or an object."""

DEPTH_MAX = 64

_PRIMITIVE = {
    "null": pa.string(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "string": pa.string(),
}
_LOGICAL = {
    ("int", "date"): pa.date32(),
    ("long", "timestamp-millis"): MOMENT,
    ("long", "timestamp-micros"): MOMENT,
    ("long", "local-timestamp-millis"): MOMENT,
    ("long", "local-timestamp-micros"): MOMENT,
}
_FAST_LOGICAL = {("int", "date"), ("long", "timestamp-millis"), ("long", "timestamp-micros")}
_NOT_FAST = {"bytes", "fixed"}


class Plan(NamedTuple):
    """How one type is kept."""

    kind: pa.DataType
    convert: Callable[[Any], Any] | None = None
    """What makes of a value what Arrow takes; None: it is that already."""
    is_fast: bool = True
    """Whether the compiled decoder knows the type."""
    is_empty: bool = False
    """Whether a value takes no bytes at all."""


def plan_of(
    schema: Schema, named: Mapping[str, Schema], inside: frozenset[str] = frozenset()
) -> Plan:
    """``named``: definitions by full name; ``inside``: those that are being looked at."""
    if len(inside) > DEPTH_MAX:
        raise InvalidConfig(f"an Avro schema is nested deeper than {DEPTH_MAX}")
    if isinstance(schema, list):
        return _union(schema, named, inside)
    if isinstance(schema, str):
        if schema in _PRIMITIVE:
            return Plan(
                _PRIMITIVE[schema], is_fast=schema not in _NOT_FAST, is_empty=schema == "null"
            )
        return _named(schema, named, inside)
    return _complex(schema, named, inside)


def _named(name: str, named: Mapping[str, Schema], inside: frozenset[str]) -> Plan:
    if name in inside:
        return Plan(pa.string(), as_json, is_fast=False)
    if name not in named:
        raise InvalidConfig(f"the Avro schema does not define {name}")
    return plan_of(named[name], named, inside)


def _union(branches: list[Schema], named: Mapping[str, Schema], inside: frozenset[str]) -> Plan:
    others = [branch for branch in branches if branch != "null"]
    if not others:
        return Plan(pa.string())
    if len(others) == 1:
        return plan_of(others[0], named, inside)._replace(is_empty=False)
    return Plan(pa.string(), as_json, is_fast=False)


def _complex(
    schema: Mapping[str, Any], named: Mapping[str, Schema], inside: frozenset[str]
) -> Plan:
    kind = schema["type"]
    if isinstance(kind, (dict, list)):
        return plan_of(kind, named, inside)
    if kind in ("record", "error"):
        return _record(schema, named, inside)
    if kind == "enum":
        return Plan(pa.string())
    if kind == "array":
        return _array(schema, named, inside)
    if kind == "map":
        return _map(schema, named, inside)
    if "logicalType" in schema:
        return _logical(schema)
    if kind == "fixed":
        return Plan(pa.binary(), is_fast=False, is_empty=schema["size"] == 0)
    return plan_of(kind, named, inside)


def _logical(schema: Mapping[str, Any]) -> Plan:
    kind, logical = schema["type"], schema["logicalType"]
    if (kind, logical) in _LOGICAL:
        return Plan(_LOGICAL[kind, logical], is_fast=(kind, logical) in _FAST_LOGICAL)
    if logical == "decimal":
        return Plan(pa.decimal128(schema["precision"], schema.get("scale", 0)), is_fast=False)
    if logical == "uuid":
        return Plan(pa.string(), str, is_fast=False)
    if logical in ("time-millis", "time-micros"):
        return Plan(pa.int64(), _time_us, is_fast=False)
    if kind == "fixed":
        return Plan(pa.binary(), is_fast=False)
    return Plan(_PRIMITIVE[kind], is_fast=False)


def _time_us(value: Any) -> int:
    seconds = value.hour * 3_600 + value.minute * 60 + value.second
    return int(seconds * 1_000_000 + value.microsecond)


def _record(schema: Mapping[str, Any], named: Mapping[str, Schema], inside: frozenset[str]) -> Plan:
    below = inside | {schema["name"]}
    plans = {field["name"]: plan_of(field["type"], named, below) for field in schema["fields"]}
    kind = pa.struct([pa.field(name, plan.kind) for name, plan in plans.items()])
    changed = {name: plan.convert for name, plan in plans.items() if plan.convert is not None}

    def convert(value: dict[str, Any]) -> dict[str, Any]:
        for name, one in changed.items():
            if value[name] is not None:
                value[name] = one(value[name])
        return value

    return Plan(
        kind,
        convert if changed else None,
        is_fast=all(plan.is_fast for plan in plans.values()),
        is_empty=all(plan.is_empty for plan in plans.values()),
    )


def _array(schema: Mapping[str, Any], named: Mapping[str, Schema], inside: frozenset[str]) -> Plan:
    plan = plan_of(schema["items"], named, inside)
    if plan.is_empty:
        # A few bytes could claim 2^62 of them, and no decoder would ever come back.
        raise InvalidConfig("an Avro array of elements that take no bytes is not supported")
    one = plan.convert
    if one is None:
        return Plan(pa.list_(plan.kind), is_fast=plan.is_fast)

    def convert(values: list[Any]) -> list[Any]:
        return [None if value is None else one(value) for value in values]

    return Plan(pa.list_(plan.kind), convert, is_fast=plan.is_fast)


def _map(schema: Mapping[str, Any], named: Mapping[str, Schema], inside: frozenset[str]) -> Plan:
    plan = plan_of(schema["values"], named, inside)
    one = plan.convert or (lambda value: value)

    def convert(values: dict[str, Any]) -> list[tuple[str, Any]]:
        return [(key, None if value is None else one(value)) for key, value in values.items()]

    return Plan(pa.map_(pa.string(), plan.kind), convert, is_fast=plan.is_fast)


def as_json(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=_plain)


def _plain(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)
