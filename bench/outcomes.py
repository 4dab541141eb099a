"""What came out: values of every round, their ratios and spread, and the verdict against the bar.

The ratio of a figure is the median of the ratios of its rounds, each of one round of both brokers
side by side in time, so that a machine that is slow for a minute is slow for both.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from bench.peers import HEADRACE, KAFKA, PeerName

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bench.figures import Figure, Series

OK = "ok"
MISSED = "missed"


class Ratio(NamedTuple):
    """headrace/kafka over all rounds."""

    median: float
    low: float
    high: float


@dataclass(frozen=True)
class FigureOutcome:
    """One figure with the values of all rounds of both brokers."""

    figure: Figure
    values: Mapping[PeerName, tuple[float, ...]]

    def median(self, peer: PeerName) -> float | None:
        values = self.values.get(peer, ())
        return median(values) if values else None

    @property
    def ratios(self) -> tuple[float, ...]:
        """One for each round that both brokers finished; a zero of Kafka's has no ratio."""
        pairs = zip(self.values.get(HEADRACE, ()), self.values.get(KAFKA, ()), strict=False)
        return tuple(ours / theirs for ours, theirs in pairs if theirs)

    @property
    def ratio(self) -> Ratio | None:
        ratios = self.ratios
        return Ratio(median(ratios), min(ratios), max(ratios)) if ratios else None

    @property
    def verdict(self) -> str | None:
        """OK or MISSED; None without a bar or without a ratio."""
        if self.ratio is None:
            return None
        meets = self.figure.meets_bar(self.ratio.median)
        return None if meets is None else OK if meets else MISSED


@dataclass(frozen=True)
class WorkOutcome:
    """All figures of one work; `error` says why rounds are missing, `seconds` what they took."""

    name: str
    title: str
    durability: str
    figures: tuple[FigureOutcome, ...]
    error: str | None = None
    seconds: float = 0.0


@dataclass(frozen=True)
class CurveOutcome:
    """All curves of one growth work."""

    name: str
    title: str
    durability: str
    series: Mapping[PeerName, tuple[Series, ...]]
    error: str | None = None
    seconds: float = 0.0


@dataclass
class Report:
    """Everything about one run of the bench."""

    started: str
    mode: str
    scale: float
    warm_up_seconds: float
    machine: Mapping[str, str]
    kafka_missing: str | None = None
    seconds: float = 0.0
    works: list[WorkOutcome] = field(default_factory=list)
    curves: list[CurveOutcome] = field(default_factory=list)

    @property
    def errors(self) -> list[str]:
        outcomes: list[WorkOutcome | CurveOutcome] = [*self.works, *self.curves]
        return [f"{outcome.name}: {outcome.error}" for outcome in outcomes if outcome.error]

    @property
    def verdicts(self) -> list[str]:
        """The verdict of every figure that has one."""
        figures = [figure for work in self.works for figure in work.figures]
        return [verdict for figure in figures if (verdict := figure.verdict)]
