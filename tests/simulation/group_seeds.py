"""Which seeds the simulations of groups run: thousands, of which a few in `make check`.

HEADRACE_TEST_GROUP_SEEDS is the number for each kind of group. Most worlds are small, because most
faults need few members and small worlds are quick; some have dozens of members, a few hundreds.
"""

from __future__ import annotations

import os
from random import Random
from typing import TYPE_CHECKING, Protocol

import pytest

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Sequence


class World(Protocol):
    """What both kinds of world tell of themselves."""

    counts: Counter[str]
    clients: Sequence[object]


SEED_COUNT = int(os.environ.get("HEADRACE_TEST_GROUP_SEEDS", "2000"))
QUICK_SEED_COUNT = 50
"""For each kind of group in `make check`."""
SEEDS_PER_TEST = 25
DOZENS_EVERY = 50
HUNDREDS_EVERY = 500


def chunks_of_seeds() -> list[object]:
    """Parameters of a test: ranges of seeds, slow beyond the first ones."""
    return [
        pytest.param(
            range(first, min(first + SEEDS_PER_TEST, SEED_COUNT)),
            id=f"{first}",
            marks=[pytest.mark.slow] if first >= QUICK_SEED_COUNT else [],
        )
        for first in range(0, SEED_COUNT, SEEDS_PER_TEST)
    ]


def group_size(seed: int) -> int:
    chance = Random(seed)
    if seed % HUNDREDS_EVERY == HUNDREDS_EVERY - 1:
        return chance.randint(100, 300)
    if seed % DOZENS_EVERY == DOZENS_EVERY - 1:
        return chance.randint(20, 50)
    return chance.randint(1, 9)


def judge_seeds(
    kind: str,
    seeds: range,
    simulate: Callable[[int, int], World],
    simulation_counts: Callable[[str, int], None],
) -> None:
    """Each world judges itself while it runs; here it is counted, and that it had work to do."""
    commits_refused = 0
    for seed in seeds:
        world = simulate(seed, group_size(seed))
        simulation_counts(f"group simulation: {kind} seeds", 1)
        simulation_counts("group simulation: commits judged", world.counts["commits judged"])
        simulation_counts("group simulation: members", len(world.clients))
        commits_refused += world.counts["commits refused"]
    assert commits_refused > 0, "nothing was put to the test"
