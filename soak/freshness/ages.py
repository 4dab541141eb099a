"""How old records are, of any number of them: counted in steps of a hundredth of a second."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

STEPS_PER_SECOND = 100
SECONDS_MAX = 600
"""Older ones count as this old."""
ROUNDING = 1e-6


class Ages:
    """Added up; percentiles are rounded up to the next step."""

    def __init__(self) -> None:
        self._counts = np.zeros(STEPS_PER_SECOND * SECONDS_MAX + 1, np.int64)

    def add(self, ages_s: NDArray[np.float64]) -> None:
        steps = np.clip(ages_s, 0, SECONDS_MAX) * STEPS_PER_SECOND
        steps = np.ceil(steps - ROUNDING).astype(np.int64)
        self._counts += np.bincount(steps, minlength=len(self._counts))

    def percentile(self, part: float) -> float:
        """The age that this part does not exceed; 0 of nothing."""
        reached = np.cumsum(self._counts)
        if not reached[-1]:
            return 0.0
        return int(np.searchsorted(reached, part * reached[-1])) / STEPS_PER_SECOND

    def take(self) -> tuple[float, float]:
        """p50 and p99 of what was added since the last call."""
        taken = self.percentile(0.50), self.percentile(0.99)
        self._counts[:] = 0
        return taken
