"""What came out: every measured run, the bars, and the curves of growth."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from bench.lake.routes import CONNECTOR, ENGINE, SOURCE
from bench.outcomes import MISSED, OK

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bench.lake.routes import Route

MEGABYTE = 1_000_000
ENGINE_FACTOR_MIN = 8.0
SOURCE_FACTOR_MIN = 2.0
BROKER_SHARE_MAX = 0.05
BY_PARTITIONS, BY_SIZE = "partitions", "GB"
"""Curves of growth, by what grows."""


@dataclass(frozen=True)
class Measurement:
    """One topic to Parquet files, once."""

    route: Route
    shape: str
    rows: int
    size_bytes: int
    """Keys and values, before compression."""
    seconds: float
    broker_cpu_seconds: float
    spark_cpu_seconds: float
    spark_megabytes: float
    spark_own_megabytes: float
    broker_megabytes: float
    parquet_bytes: int
    files: int

    @property
    def rows_per_second(self) -> float:
        return self.rows / self.seconds

    @property
    def megabytes_per_second(self) -> float:
        return self.size_bytes / MEGABYTE / self.seconds


class GrowthPoint(NamedTuple):
    """One point of a curve."""

    curve: str
    x: float
    measurement: Measurement


@dataclass(frozen=True)
class Bar:
    """A ratio that is asked for, and what it was: the median, the lowest, the highest."""

    shape: str
    title: str
    ratio: float
    low: float
    high: float
    limit: float
    is_least: bool

    @property
    def verdict(self) -> str:
        meets = self.ratio >= self.limit if self.is_least else self.ratio <= self.limit
        return OK if meets else MISSED


@dataclass
class Report:
    """Everything about one run."""

    started: str
    mode: str
    scale: float
    rounds: int
    partitions: int
    codec: str
    parquet_codec: str
    machine: Mapping[str, str]
    missing: str | None = None
    """Why there are no routes through Spark's connector, or only some."""
    seconds: float = 0.0
    measurements: list[Measurement] = field(default_factory=list)
    growth: list[GrowthPoint] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @property
    def shapes(self) -> list[str]:
        return list(dict.fromkeys(one.shape for one in self.measurements))

    def of(self, shape: str, route: Route) -> list[Measurement]:
        return [one for one in self.measurements if (one.shape, one.route) == (shape, route)]

    @property
    def bars(self) -> list[Bar]:
        return [bar for shape in self.shapes for bar in self._bars_of(shape)]

    def _bars_of(self, shape: str) -> list[Bar]:
        """Rates against the best of all runs of the connector, whichever broker it was on."""
        rates = [
            one.rows_per_second
            for one in self.measurements
            if one.shape == shape and one.route.is_connector
        ]
        costs = [one.broker_cpu_seconds for one in self.of(shape, CONNECTOR)]
        bars = []
        for route, factor in ((ENGINE, ENGINE_FACTOR_MIN), (SOURCE, SOURCE_FACTOR_MIN)):
            ours = self.of(shape, route)
            if ours and rates:
                title = f"{route.title}: rows/s, of the best connector run's"
                values = [one.rows_per_second / max(rates) for one in ours]
                bars.append(_bar(shape, title, values, factor, is_least=True))
            if ours and costs:
                title = f"{route.title}: broker CPU, of the connector's on Headrace"
                values = [one.broker_cpu_seconds / median(costs) for one in ours]
                bars.append(_bar(shape, title, values, BROKER_SHARE_MAX, is_least=False))
        return bars


def _bar(shape: str, title: str, values: Sequence[float], limit: float, *, is_least: bool) -> Bar:
    return Bar(shape, title, median(values), min(values), max(values), limit, is_least)


def median_of(measurements: Sequence[Measurement], value: Callable[[Measurement], float]) -> float:
    return median(value(one) for one in measurements)
