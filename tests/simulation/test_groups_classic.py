"""Classic groups under faults, in virtual time, from seeds (see ``classic_world.py``).

Checked all along: no partition has two owners in one generation; no commit is taken from a member
that expired, left, or was replaced by a newer generation or a newer process of its instance; no
commit is acknowledged before it is durable; no request is answered twice. Checked when all is
quiet: every live member is in, every partition has an owner, every acknowledged offset is there.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from headrace.coordination.groups.classic_states import ClassicState
from headrace.testing.group_bench import GROUP
from tests.simulation.classic_world import CHAOS_MS, QUIET_MS, World
from tests.simulation.group_seeds import chunks_of_seeds, judge_seeds

if TYPE_CHECKING:
    from collections.abc import Callable

FULL_QUIET_EVERY = 10
"""Every so many seeds the quiet lasts to its end, though the group may be at rest long before."""
LOOK_MS = 10_000


def is_quiet(world: World) -> bool:
    alive = [client for client in world.clients if not client.is_dead]
    if GROUP not in world.bench.registry.groups:
        return not alive
    group = world.bench.group()
    if not alive:
        return group.state is ClassicState.EMPTY
    return (
        group.state is ClassicState.STABLE
        and set(group.members) == {client.member_id for client in alive}
        and {client.generation for client in alive} == {group.generation}
        and sum(len(client.partitions) for client in alive) == world.partition_count
        and not group.pending_ids
    )


def check_quiet(world: World) -> None:
    world.check_offsets()
    assert is_quiet(world)
    alive = [client for client in world.clients if not client.is_dead]
    owned = sorted(partition for client in alive for partition in client.partitions)
    assert owned == (list(range(world.partition_count)) if alive else [])
    if alive:
        members = world.bench.group().members.values()
        assert not [m for m in members if m.join_token or m.sync_token]


def simulate(seed: int, size: int) -> World:
    world = World(seed, size)
    fate = Random(seed)
    if seed % 3 == 0:
        for _ in range(fate.randint(1, 4)):
            world.after(fate.randint(2_000, CHAOS_MS), world.restart_coordinator)
    if seed % 4 == 0:
        for _ in range(fate.randint(1, 3)):
            world.after(fate.randint(2_000, CHAOS_MS - 5_000), world.refuse_writes)
    world.run_until(world.chaos_end_ms)
    end_ms = world.chaos_end_ms + QUIET_MS
    while world.now_ms < end_ms:
        world.run_until(world.now_ms + LOOK_MS)
        if seed % FULL_QUIET_EVERY and is_quiet(world):
            break
    check_quiet(world)
    return world


@pytest.mark.parametrize("seeds", chunks_of_seeds())
def test_groups_stay_safe_and_come_to_rest(
    seeds: range, simulation_counts: Callable[[str, int], None]
) -> None:
    judge_seeds("classic", seeds, simulate, simulation_counts)


def test_group_of_hundreds_comes_to_rest() -> None:
    world = simulate(seed=7, size=300)
    assert world.counts["commits judged"] > 100
    assert world.counts["zombies"] > 10
    assert world.counts["twins fenced"] > 10


def test_same_seed_is_the_same_world() -> None:
    logs = [simulate(seed=11, size=12).bench.port.log for _ in range(2)]
    assert logs[0] == logs[1]
    assert logs[0]
