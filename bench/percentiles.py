"""Percentiles by nearest rank: always a value that was measured, never one in between."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

P50, P99, P99_9 = "p50", "p99", "p99.9"
QUANTILES = {P50: 0.5, P99: 0.99, P99_9: 0.999}


def percentile(ordered: Sequence[float], quantile: float) -> float:
    """The smallest value that at least this share of all values does not exceed."""
    if not ordered:
        raise ValueError("no values: nothing was measured")
    rank = math.ceil(quantile * len(ordered))
    return ordered[min(max(rank, 1), len(ordered)) - 1]


def percentiles(values: Sequence[float]) -> dict[str, float]:
    """p50, p99 and p99.9 by name."""
    ordered = sorted(values)
    return {name: percentile(ordered, quantile) for name, quantile in QUANTILES.items()}
