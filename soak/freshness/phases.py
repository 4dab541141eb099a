"""The same load all the time, with and without a job beside it: latencies apart by phase."""

from __future__ import annotations

from array import array
from enum import Enum

from soak.percentiles import LatencyWindow, Percentiles, at


class Phase(Enum):
    """The value is what a person reads."""

    BEFORE = "before the job"
    STARTING = "while Spark starts"
    WITH = "with the job"
    AFTER = "after the job"


WITHOUT = (Phase.BEFORE, Phase.AFTER)


class PhasedLatencies(LatencyWindow):
    """Keeps all of them; what comes while there is no phase counts nowhere."""

    def __init__(self) -> None:
        super().__init__()
        self.phase: Phase | None = None
        self._seconds_of: dict[Phase, array[float]] = {phase: array("d") for phase in Phase}

    def add(self, seconds: float) -> None:
        super().add(seconds)
        phase = self.phase
        if phase is not None:
            self._seconds_of[phase].append(seconds)

    def percentiles(self, *phases: Phase) -> Percentiles:
        ordered = sorted(value for phase in phases for value in self._seconds_of[phase])
        return Percentiles(1000 * at(ordered, 0.50), 1000 * at(ordered, 0.99))
