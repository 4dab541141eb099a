"""One run from start to report: both brokers up and warm, all work in order, progress shown."""

from __future__ import annotations

import time
from contextlib import ExitStack, closing
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from bench.machine import description
from bench.memory import PageCache
from bench.outcomes import Report
from bench.peers import HEADRACE, KAFKA, Peer, PeerFactory, PeerName
from bench.rounds import growth_curves, life_cycle_rounds, rounds_of, steady_rounds
from bench.warm_up import warm_up

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from rich.console import Console

    from bench.protocols import GrowthWork, LifeCycleWork, Repeated, SteadyWork

FULL, QUICK, PARTIAL = "full", "quick", "partial"


@dataclass(frozen=True)
class Plan:
    """What to do in this run."""

    before_load: Sequence[SteadyWork]
    steady: Sequence[SteadyWork]
    after_load: Sequence[SteadyWork]
    life_cycle: Sequence[LifeCycleWork]
    growth: Sequence[GrowthWork]
    mode: str
    rounds: int | None
    scale: float
    warm_up_seconds: float
    kafka_missing: str | None

    @property
    def all_steady(self) -> list[SteadyWork]:
        return [*self.before_load, *self.steady, *self.after_load]

    @property
    def peer_names(self) -> list[PeerName]:
        return [HEADRACE] if self.kafka_missing else [HEADRACE, KAFKA]

    def rounds_of(self, work: Repeated) -> int:
        return rounds_of(work, is_quick=self.mode == QUICK, wanted=self.rounds)

    @property
    def step_count(self) -> int:
        """Steps of the progress bar: a round on one broker, a warm-up, a set of curves."""
        repeated: list[Repeated] = [*self.all_steady, *self.life_cycle]
        steps = sum(self.rounds_of(work) for work in repeated) + len(self.growth)
        return (steps + bool(self.steady)) * len(self.peer_names)


class Run:
    """A run under way."""

    def __init__(self, plan: Plan, work_directory: Path, console: Console) -> None:
        self._plan = plan
        self._console = console
        self._work_directory = work_directory
        self._factories = {name: PeerFactory(name, work_directory) for name in plan.peer_names}
        self._report = Report(
            started=datetime.now(UTC).isoformat(timespec="minutes"),
            mode=plan.mode,
            scale=plan.scale,
            warm_up_seconds=plan.warm_up_seconds if plan.steady else 0.0,
            machine=description(work_directory, has_kafka=not plan.kafka_missing),
            kafka_missing=plan.kafka_missing,
        )
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            # Often enough for an eye; each refresh takes CPU time from what is measured.
            refresh_per_second=1,
        )
        self._task = self._progress.add_task("start", total=plan.step_count)
        self._is_first_step = True

    def run(self) -> Report:
        started = time.monotonic()
        if self._plan.kafka_missing:
            self._console.print(f"Headrace alone: {self._plan.kafka_missing}")
        with self._progress:
            self._steady()
            for work in self._plan.life_cycle:
                rounds = self._plan.rounds_of(work)
                self._report.works.append(
                    life_cycle_rounds(work, self._factories, self._plan.scale, rounds, self._step)
                )
            for curves in self._plan.growth:
                self._report.curves.append(
                    growth_curves(curves, self._factories, self._plan.scale, self._step)
                )
            self._progress.update(self._task, completed=self._plan.step_count, description="done")
        self._report.seconds = time.monotonic() - started
        return self._report

    def _steady(self) -> None:
        if not self._plan.all_steady:
            return
        with ExitStack() as stack:
            page_cache = stack.enter_context(closing(PageCache(self._work_directory)))
            peers: dict[PeerName, Peer] = {}
            for name, factory in self._factories.items():
                self._progress.update(self._task, description=f"start {name}")
                peers[name] = stack.enter_context(factory.started())
            self._rounds(self._plan.before_load, peers, page_cache)
            if self._plan.steady:
                for name, peer in peers.items():
                    self._step(f"warm up {name} for {self._plan.warm_up_seconds:g} s")
                    warm_up(peer, self._plan.warm_up_seconds)
            self._rounds(self._plan.steady, peers, page_cache)
            self._rounds(self._plan.after_load, peers, page_cache)

    def _rounds(
        self, works: Sequence[SteadyWork], peers: Mapping[PeerName, Peer], page_cache: PageCache
    ) -> None:
        for work in works:
            rounds = self._plan.rounds_of(work)
            self._report.works.append(
                steady_rounds(work, peers, page_cache, self._plan.scale, rounds, self._step)
            )

    def _step(self, what: str) -> None:
        """The step before is over, this one begins."""
        self._progress.update(self._task, advance=0 if self._is_first_step else 1, description=what)
        self._is_first_step = False
