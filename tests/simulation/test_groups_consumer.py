"""Consumer groups (KIP-848) under faults, in virtual time, from seeds (see ``consumer_world.py``).

Watched throughout:

* no partition is owned by two clients at once, ownership being what the *clients* believe, unless
  the coordinator has fenced one of them;
* no commit is taken from a client that was fenced, expired or left, or of another's partition;
* a restart changes nothing, and keeps every committed offset;

and when the faults end: every partition is owned, and the group is stable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.coordination.groups.consumer_group import GroupState
from tests.simulation.consumer_world import FAULTS_MS, QUIET_MS, Client, Fate, Partition, World
from tests.simulation.group_seeds import chunks_of_seeds, judge_seeds

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.coordination.groups.consumer_group import ConsumerGroup

FULL_QUIET_EVERY = 10
"""Every so many seeds the quiet lasts to its end, though the group may be at rest long before."""
LOOK_MS = 15_000


def members_and_waiting(world: World) -> tuple[dict[str, Client], list[Client]]:
    """The clients that should be members, and those whose instance id another client holds."""
    living = [client for client in world.clients if client.is_alive]
    group = world.group
    waiting = []
    for client in living:
        if group is not None and client.instance_id is not None:
            holder = group.static_member(client.instance_id)
            if holder is not None and holder.member_id != client.member_id:
                waiting.append(client)
    return {c.member_id: c for c in living if c not in waiting}, waiting


def is_at_rest(world: World) -> bool:
    group = world.group
    members, _ = members_and_waiting(world)
    if group is None or not members:
        return not members and (group is None or group.is_empty())
    return (
        group.members.keys() == members.keys()
        and group.state is GroupState.STABLE
        and all(
            client.epoch == group.assignment_epoch and client.owned == assigned(group, member_id)
            for member_id, client in members.items()
        )
    )


def assigned(group: ConsumerGroup, member_id: str) -> set[Partition]:
    member = group.members[member_id]
    return {(t, p) for t, numbers in member.assigned.items() for p in numbers}


def wanted(world: World, group: ConsumerGroup) -> set[Partition]:
    """All partitions that anybody subscribes to."""
    names: set[str] = set()
    for member in group.members.values():
        names |= set(member.topic_names)
        if member.pattern:
            names |= group.patterns[member.pattern].topic_names
    topics = [topic for name in names if (topic := world.catalogue.topic(name)) is not None]
    return {(topic.topic_id, p) for topic in topics for p in range(topic.partition_count)}


def assert_all_is_well(world: World) -> None:
    """Nobody disturbed the group for long: it must have come to rest."""
    world.check_offsets()
    group = world.group
    members, waiting = members_and_waiting(world)
    if group is None:
        assert not members
        return
    assert group.members.keys() == members.keys()
    assert group.state in (GroupState.STABLE, GroupState.EMPTY)
    for member_id, client in members.items():
        assert client.epoch == group.members[member_id].epoch == group.assignment_epoch
        assert client.owned == assigned(group, member_id)
    for client in waiting:
        assert not client.owned
        assert client.epoch == 0
    owned = [partition for client in members.values() for partition in client.owned]
    assert len(owned) == len(set(owned))
    assert set(owned) == wanted(world, group)


def simulate(seed: int, client_count: int) -> World:
    world = World(seed)
    Fate(world, client_count)
    world.run(FAULTS_MS)
    world.faults = False
    for _ in range(QUIET_MS // LOOK_MS):
        world.run(LOOK_MS)
        if seed % FULL_QUIET_EVERY and is_at_rest(world):
            break
    assert_all_is_well(world)
    return world


@pytest.mark.parametrize("seeds", chunks_of_seeds())
def test_groups_stay_safe_and_come_to_rest(
    seeds: range, simulation_counts: Callable[[str, int], None]
) -> None:
    judge_seeds("consumer", seeds, simulate, simulation_counts)


@pytest.mark.slow
def test_group_of_hundreds_stays_safe_and_comes_to_rest() -> None:
    world = simulate(1_000, client_count=200)
    assert len(world.clients) > 200
    assert world.counts["commits judged"] > 100
    assert world.counts["zombies"] > 10
    assert world.counts["twins"] > 0


def test_same_seed_gives_the_same_run() -> None:
    first, second = simulate(7, 6), simulate(7, 6)
    assert first.counts == second.counts
    assert [c.member_id for c in first.clients] == [c.member_id for c in second.clients]
