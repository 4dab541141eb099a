"""Times that a calendar has: of the years 1 to 9999. A producer may send any number."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.pipeline.decoding.model import BadValue

if TYPE_CHECKING:
    from numpy.typing import NDArray

DAY_US = 86_400_000_000
DAY_MIN, DAY_MAX = -719_162, 2_932_896
"""0001-01-01 and 9999-12-31, in days since 1970."""
MOMENT_US_MIN, MOMENT_US_MAX = DAY_MIN * DAY_US, (DAY_MAX + 1) * DAY_US - 1


class _Limits(NamedTuple):
    number: pa.DataType
    low: int
    high: int
    unit: str


_LIMITS = {
    pa.timestamp("us", "UTC"): _Limits(pa.int64(), MOMENT_US_MIN, MOMENT_US_MAX, "microseconds"),
    pa.date32(): _Limits(pa.int32(), DAY_MIN, DAY_MAX, "days"),
}


def beyond_calendar(rows: pa.RecordBatch) -> list[BadValue]:
    """Rows with a time that no calendar has; columns within others do not matter."""
    bad: dict[int, BadValue] = {}
    for field, column in zip(rows.schema, rows.columns, strict=True):
        if field.type not in _LIMITS:
            continue
        limits, numbers = _LIMITS[field.type], _numbers(column)
        for index in np.flatnonzero(_is_beyond(numbers, limits)).tolist():
            number = f"{numbers[index]} {limits.unit} since 1970"
            reason = f"{field.name} is {number}, which is not in the years 1 to 9999"
            bad.setdefault(index, BadValue(index, reason))
    return [bad[index] for index in sorted(bad)]


def within_calendar(times: pa.Array) -> pa.Array:
    """The same with nulls for times that no calendar has."""
    is_beyond = _is_beyond(_numbers(times), _LIMITS[times.type])
    if not is_beyond.any():
        return times
    return pc.if_else(pa.array(is_beyond), pa.scalar(None, times.type), times)


def _numbers(times: pa.Array) -> NDArray[np.int64]:
    numbers: NDArray[np.int64] = times.cast(_LIMITS[times.type].number).fill_null(0).to_numpy()
    return numbers


def _is_beyond(numbers: NDArray[np.int64], limits: _Limits) -> NDArray[np.bool_]:
    beyond: NDArray[np.bool_] = (numbers < limits.low) | (numbers > limits.high)
    return beyond
