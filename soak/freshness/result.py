"""What is run, what is seen on the way, and what is found in the end."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median

from .phases import Phase

COST_MAX = 1.5
"""Produce p99 with the job, as a multiple of that without it."""
LAG_GROWTH_MAX = 1.5
LAG_SECONDS_FREE = 2.0
"""So much of the load more or less is no growth."""
DISTURBED = 2.0
"""Phases without the job whose p99 differ by more than this were not alone on the machine: a
comparison with them says nothing."""
WITHOUT_JOB = "without the job"
"""Both phases, before and after, together."""


@dataclass(frozen=True)
class FreshnessPlan:
    """What is to be run."""

    with_seconds: float
    without_seconds: float
    records_per_second: int
    trigger_seconds: float
    master: str | None
    """None: that of table topics."""
    niceness: int


@dataclass(frozen=True)
class FreshnessSample:
    """One look. Rates, ages and latencies are of the time since the look before."""

    at_seconds: float
    phase: str
    produced_per_second: float
    written_per_second: float
    lag_records: int
    freshness_p50_seconds: float
    freshness_p99_seconds: float
    produce_p50_ms: float
    produce_p99_ms: float
    broker_cpu_percent: float
    job_cpu_percent: float
    broker_megabytes: float
    job_megabytes: float
    files: int


@dataclass
class FreshnessResult:
    """What a run cost and found."""

    plan: FreshnessPlan
    samples: list[FreshnessSample] = field(default_factory=list)
    produce_p50_ms: dict[str, float] = field(default_factory=dict)
    produce_p99_ms: dict[str, float] = field(default_factory=dict)
    """By phase, and for both without the job together."""
    freshness_p50_seconds: float = 0.0
    freshness_p99_seconds: float = 0.0
    records_in_table: int = 0
    records_repeated: int = 0
    records_missing: int = 0
    records_not_sent: int = 0
    batches: int = 0
    failures: list[str] = field(default_factory=list)

    @property
    def cost(self) -> float:
        """Produce p99 with the job, as a multiple of that without it."""
        without = self.produce_p99_ms.get(WITHOUT_JOB, 0.0)
        return self.produce_p99_ms.get(Phase.WITH.value, 0.0) / without if without else 0.0

    @property
    def is_disturbed(self) -> bool:
        before, after = (
            self.produce_p99_ms.get(phase.value, 0.0) for phase in (Phase.BEFORE, Phase.AFTER)
        )
        return max(before, after) > DISTURBED * min(before, after)

    @property
    def lag_has_grown(self) -> bool:
        lags = [sample.lag_records for sample in self.samples if sample.phase == Phase.WITH.value]
        quarter = len(lags) // 4
        if not quarter:
            return False
        earlier, later = median(lags[quarter : 2 * quarter]), median(lags[-quarter:])
        free = LAG_SECONDS_FREE * self.plan.records_per_second
        return later > LAG_GROWTH_MAX * earlier + free

    @property
    def is_exact(self) -> bool:
        return not self.records_repeated and not self.records_missing and self.records_in_table > 0

    @property
    def is_clean(self) -> bool:
        return (
            self.is_exact
            and not self.lag_has_grown
            and not self.failures
            and not self.is_disturbed
            and 0 < self.cost <= COST_MAX
        )
