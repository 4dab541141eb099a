"""Who is measured when: A B A B, one broker under load at a time, until all rounds are done.

An error ends the rounds of its work, not the run: the table then says what failed and why.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from bench.outcomes import CurveOutcome, FigureOutcome, WorkOutcome
from bench.peers import PeerFailed, PeerName, answers_api_versions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bench.figures import Series
    from bench.memory import PageCache
    from bench.peers import Peer, PeerFactory
    from bench.protocols import GrowthWork, LifeCycleWork, Repeated, SteadyWork

ROUNDS_FULL = 3
ROUNDS_QUICK = 2
ERROR_CHARACTERS_MAX = 1_000


def rounds_of(work: Repeated, *, is_quick: bool, wanted: int | None) -> int:
    """How often; more than the work says only where it is quick enough for three rounds."""
    if wanted is not None:
        return wanted if work.rounds_max >= ROUNDS_FULL else min(wanted, work.rounds_max)
    return min(ROUNDS_QUICK, work.rounds_max) if is_quick else work.rounds_max


def steady_rounds(
    work: SteadyWork,
    peers: Mapping[PeerName, Peer],
    page_cache: PageCache,
    scale: float,
    rounds: int,
    on_step: Callable[[str], None],
) -> WorkOutcome:
    def one_round(peer: Peer) -> dict[str, float]:
        if not answers_api_versions(peer.bootstrap_servers):
            raise PeerFailed(f"{peer.name} does not answer any more")
        os.sync()  # dirty pages of the work before are not this one's
        if work.writes_bulk:
            page_cache.turn_over()
        return work.run(peer, scale)

    runs = {name: lambda peer=peer: one_round(peer) for name, peer in peers.items()}
    return alternate(work, runs, rounds, on_step)


def life_cycle_rounds(
    work: LifeCycleWork,
    factories: Mapping[PeerName, PeerFactory],
    scale: float,
    rounds: int,
    on_step: Callable[[str], None],
) -> WorkOutcome:
    def one_round(factory: PeerFactory) -> dict[str, float]:
        os.sync()
        return work.run(factory, scale)

    runs = {name: lambda factory=factory: one_round(factory) for name, factory in factories.items()}
    return alternate(work, runs, rounds, on_step)


def alternate(
    work: Repeated,
    runs: Mapping[PeerName, Callable[[], dict[str, float]]],
    rounds: int,
    on_step: Callable[[str], None],
) -> WorkOutcome:
    """All rounds of one work on every broker in turn."""
    values: dict[PeerName, list[dict[str, float]]] = {name: [] for name in runs}
    error = None
    started = time.monotonic()
    for number in range(1, rounds + 1):
        for name, run in runs.items():
            on_step(f"{work.name}, round {number} of {rounds}, {name}")
            try:
                values[name].append(checked(work, run()))
            except Exception as failure:
                error = f"{name}, round {number}: {described(failure)}"
                break
        if error:
            break
    figures = tuple(
        FigureOutcome(
            figure,
            {name: tuple(one[figure.name] for one in done) for name, done in values.items()},
        )
        for figure in work.figures
    )
    seconds = time.monotonic() - started
    return WorkOutcome(work.name, work.title, work.durability, figures, error, seconds)


def checked(work: Repeated, values: dict[str, float]) -> dict[str, float]:
    """ValueError unless these are exactly the figures that the work names."""
    names = {figure.name for figure in work.figures}
    if set(values) != names:
        raise ValueError(f"figures {sorted(values)} instead of {sorted(names)}")
    return values


def growth_curves(
    work: GrowthWork,
    factories: Mapping[PeerName, PeerFactory],
    scale: float,
    on_step: Callable[[str], None],
) -> CurveOutcome:
    series: dict[PeerName, tuple[Series, ...]] = {}
    errors = []
    started = time.monotonic()
    for name, factory in factories.items():
        on_step(f"{work.name}, {name}")
        try:
            series[name] = tuple(work.run(factory, scale))
        except Exception as failure:
            errors.append(f"{name}: {described(failure)}")
    error = "; ".join(errors) if errors else None
    seconds = time.monotonic() - started
    return CurveOutcome(work.name, work.title, work.durability, series, error, seconds)


def described(failure: Exception) -> str:
    return f"{type(failure).__name__}: {failure}"[:ERROR_CHARACTERS_MAX]
