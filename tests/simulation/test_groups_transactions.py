"""Offsets in transactions against a model, with kills and compaction (see ``offsets_world.py``).

After every act the log is read from its beginning by a new coordinator, so a crash at any boundary
is part of every run: what it finds is what the old one knew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.simulation.group_seeds import SEED_COUNT, chunks_of_seeds
from tests.simulation.offsets_world import World

if TYPE_CHECKING:
    from collections.abc import Callable

ACTS = 40
CHUNKS = chunks_of_seeds()[::2]
"""Half of what other groups get: here every act reads the whole log again."""


def simulate(seed: int) -> World:
    world = World(seed)
    for _ in range(ACTS):
        world.act()
        world.check()
        world.check_log()
    return world


@pytest.mark.parametrize("seeds", CHUNKS)
def test_offsets_in_transactions_are_those_of_the_model(
    seeds: range, simulation_counts: Callable[[str, int], None]
) -> None:
    for seed in seeds:
        world = simulate(seed)
        simulation_counts("group simulation: transaction seeds", 1)
        assert world.commits > 0


def test_compaction_takes_aborted_offsets_and_keeps_the_others() -> None:
    """Rounds over rounds, until the markers of what is gone are gone themselves."""
    world = World(SEED_COUNT)
    for _ in range(60):
        world.commit_pending()
        world.end()
        world.bench.clock.advance_ms(1_000)
    for producer_id in world.epochs:
        world.end_of(producer_id, is_commit=True)
    grown_bytes = world.log_bytes
    for _ in range(4):
        world.compact()
        world.check()
        world.bench.clock.advance_ms(60_000)
        for _ in range(20):
            world.commit()
    world.check()
    assert world.log_bytes < grown_bytes
