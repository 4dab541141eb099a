"""Does anything grow or slow down? Judged by the second quarter of a run against its last.

The first quarter is warm-up. A quantity drifts if its median has moved in the bad direction by more
than the tolerance AND its trend over the last three quarters says the same: a step that came and
went, or noise of a busy machine, is no drift.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .samples import Sample

SAMPLES_MIN = 8


@dataclass(frozen=True)
class Tolerance:
    """``part`` of the earlier median, or ``amount`` if that is more."""

    name: str
    title: str
    part: float
    amount: float
    worse_is_higher: bool = True


TOLERANCES = (
    Tolerance("produced_per_second", "records produced per second", 0.05, 100, False),
    Tolerance("consumed_per_second", "records consumed per second", 0.05, 200, False),
    Tolerance("produce_p50_ms", "produce latency p50 (ms)", 0.25, 1.0),
    Tolerance("produce_p99_ms", "produce latency p99 (ms)", 0.50, 5.0),
    Tolerance("end_to_end_p50_ms", "end-to-end latency p50 (ms)", 0.25, 1.0),
    Tolerance("end_to_end_p99_ms", "end-to-end latency p99 (ms)", 0.50, 10.0),
    Tolerance("resident_megabytes", "resident memory (MB)", 0.10, 3.0),
    Tolerance("descriptors", "open descriptors", 0.10, 20),
    Tolerance("threads", "threads", 0.0, 1),
    Tolerance("cpu_percent", "broker CPU (% of a core)", 0.15, 3.0),
)
"""What must stay as it is while the load does. Disk is bounded by retention, see the long run."""


@dataclass(frozen=True)
class Verdict:
    """One quantity: earlier and later median, and what the trend adds up to over that time."""

    name: str
    title: str
    earlier: float
    later: float
    trend: float
    allowed: float
    has_drifted: bool


def judge(samples: Sequence[Sample]) -> list[Verdict]:
    if len(samples) < SAMPLES_MIN:
        raise ValueError(f"{len(samples)} samples say nothing about drift; {SAMPLES_MIN} do")
    return [_judge_one(samples, tolerance) for tolerance in TOLERANCES]


def _judge_one(samples: Sequence[Sample], tolerance: Tolerance) -> Verdict:
    values = [float(getattr(sample, tolerance.name)) for sample in samples]
    quarter = len(values) // 4
    earlier, later = median(values[quarter : 2 * quarter]), median(values[-quarter:])
    times = [sample.at_seconds for sample in samples[quarter:]]
    trend = slope(times, values[quarter:]) * (times[-1] - times[0])
    allowed = max(tolerance.part * abs(earlier), tolerance.amount)
    sign = 1 if tolerance.worse_is_higher else -1
    has_drifted = sign * (later - earlier) > allowed and sign * trend > allowed
    return Verdict(tolerance.name, tolerance.title, earlier, later, trend, allowed, has_drifted)


def slope(times: Sequence[float], values: Sequence[float]) -> float:
    """Least squares, per second."""
    time_mean, value_mean = sum(times) / len(times), sum(values) / len(values)
    spread = sum((time - time_mean) ** 2 for time in times)
    together = sum(
        (time - time_mean) * (value - value_mean) for time, value in zip(times, values, strict=True)
    )
    return together / spread if spread else 0.0
