"""Smallest and largest values of a file's columns, from its Parquet footer.

Only what is certain is said: no bounds for binary columns and floating point (NaN is in no bound),
none for long texts, none where one row group lacks them.
"""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow.parquet as pq

TIMESTAMP_COLUMN = "timestamp"
TEXT_CHARACTERS_MAX = 64
"""Longer texts have no bounds: a cut maximum would be too small."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


class Bounds(NamedTuple):
    """Of one column over all row groups; raw as Parquet stores it."""

    low: Any
    high: Any
    nulls: int | None


def timestamp_bounds_ms(metadata: pq.FileMetaData) -> tuple[int | None, int | None]:
    """Oldest and newest record of the file."""
    for name, type_, bounds in _columns(metadata):
        if name == TIMESTAMP_COLUMN and pa.types.is_timestamp(type_) and bounds.low is not None:
            scale = _PER_SECOND[type_.unit]
            return bounds.low * 1000 // scale, bounds.high * 1000 // scale
    return None, None


def delta_statistics(metadata: pq.FileMetaData) -> str:
    """In the JSON of Delta's log."""
    low: dict[str, Any] = {}
    high: dict[str, Any] = {}
    nulls: dict[str, int] = {}
    for name, type_, bounds in _columns(metadata):
        if bounds.nulls is not None:
            nulls[name] = bounds.nulls
        shown = _shown(type_, bounds)
        if shown is not None:
            low[name], high[name] = shown
    return json.dumps(
        {
            "numRecords": metadata.num_rows,
            "minValues": low,
            "maxValues": high,
            "nullCount": nulls,
        },
        separators=(",", ":"),
    )


def _columns(metadata: pq.FileMetaData) -> list[tuple[str, pa.DataType, Bounds]]:
    """Flat columns only; nested ones are not worth their place in a log."""
    types = {field.name: field.type for field in metadata.schema.to_arrow_schema()}
    found = []
    for index in range(metadata.num_columns):
        name = metadata.schema.column(index).path
        if name in types and not pa.types.is_nested(types[name]):
            found.append((name, types[name], _bounds(metadata, index)))
    return found


def _bounds(metadata: pq.FileMetaData, column: int) -> Bounds:
    groups = [
        metadata.row_group(group).column(column).statistics
        for group in range(metadata.num_row_groups)
    ]
    if not groups or any(each is None for each in groups):
        return Bounds(None, None, None)
    has_nulls = all(each.has_null_count for each in groups)
    nulls = sum(each.null_count for each in groups) if has_nulls else None
    # A row group of nothing but nulls has no bounds and needs none.
    valued = [each for each in groups if not has_nulls or each.num_values > 0]
    if not valued or not all(each.has_min_max for each in valued):
        return Bounds(None, None, nulls)
    return Bounds(min(each.min_raw for each in valued), max(each.max_raw for each in valued), nulls)


def _shown(type_: pa.DataType, bounds: Bounds) -> tuple[Any, Any] | None:
    if bounds.low is None:
        return None
    for applies, show in _SHOWN:
        if applies(type_):
            return show(type_, bounds)
    return None


def _as_they_are(_: pa.DataType, bounds: Bounds) -> tuple[Any, Any]:
    return bounds.low, bounds.high


def _texts(_: pa.DataType, bounds: Bounds) -> tuple[Any, Any] | None:
    if max(len(bounds.low), len(bounds.high)) > TEXT_CHARACTERS_MAX:
        return None
    try:
        return bounds.low.decode(), bounds.high.decode()
    except UnicodeDecodeError:
        return None


def _dates(_: pa.DataType, bounds: Bounds) -> tuple[Any, Any] | None:
    try:
        low, high = (date(1970, 1, 1) + timedelta(days=day) for day in (bounds.low, bounds.high))
    except OverflowError:
        return None
    return low.isoformat(), high.isoformat()


def _times(type_: pa.DataType, bounds: Bounds) -> tuple[Any, Any] | None:
    """Delta's log knows milliseconds: rounded outwards."""
    scale = _PER_SECOND[type_.unit]
    if type_.tz is None:
        return None
    try:
        low = _EPOCH + timedelta(milliseconds=bounds.low * 1000 // scale)
        high = _EPOCH + timedelta(milliseconds=-(-bounds.high * 1000 // scale))
    except OverflowError:
        return None
    return _iso(low), _iso(high)


def _iso(moment: datetime) -> str:
    return moment.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def _is_text(type_: pa.DataType) -> bool:
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_))


_SHOWN: tuple[
    tuple[Callable[[pa.DataType], bool], Callable[[pa.DataType, Bounds], tuple[Any, Any] | None]],
    ...,
] = (
    (pa.types.is_signed_integer, _as_they_are),
    (pa.types.is_date32, _dates),
    (pa.types.is_timestamp, _times),
    (_is_text, _texts),
)
