"""The plan of the growth curves."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bench.figures import Point, Series
from bench.load.members import is_complete
from bench.load.topics import PARTITIONS_PER_CALL_MAX
from bench.work.growth import GIGABYTE, Budget, Curves, targets
from bench.work.growth_backlog import maybe_obstacle
from bench.work.growth_partitions import STEPS, topics_up_to


def test_topics_grow_to_each_step_in_calls_that_are_accepted():
    topics = []
    for wanted in STEPS:
        added = topics_up_to(wanted, topics)
        topics += added
        assert sum(partitions for _, partitions in topics) == wanted
        assert all(0 < partitions <= PARTITIONS_PER_CALL_MAX for _, partitions in added)
    assert len({name for name, _ in topics}) == len(topics)
    assert topics_up_to(STEPS[-1], topics) == []


def test_targets_are_all_partitions_of_all_topics():
    found = [(frames.topic, partition) for frames, partition in targets([("a", 2), ("b", 1)], 5)]
    assert found == [("a", 0), ("a", 1), ("b", 0)]


def test_a_step_is_left_out_without_room_or_time():
    assert maybe_obstacle(4 * GIGABYTE, 5 * GIGABYTE, 1.0) is None
    assert maybe_obstacle(4 * GIGABYTE, 4 * GIGABYTE, 1.0) == "4 GB free on the disk"
    assert maybe_obstacle(0, GIGABYTE, 0.0) == "no time left"


def test_a_budget_shrinks_with_the_clock():
    now_s = [100.0]
    budget = Budget(30.0, lambda: now_s[0])
    assert budget.left_s == 30.0
    now_s[0] = 140.0
    assert budget.left_s == -10.0


def test_points_are_collected_under_the_name_of_their_curve():
    curves = Curves("GB", "size")
    curves.add(0, "rate", "records/s", 10.0)
    curves.add(0, "memory", "MB", 50.0)
    curves.add(5, "rate", "records/s", 11.0)
    assert curves.series() == [
        Series("rate by size", "GB", "records/s", (Point(0, 10.0), Point(5, 11.0))),
        Series("memory by size", "GB", "MB", (Point(0, 50.0),)),
    ]


@given(st.permutations(range(6)), st.integers(1, 5))
def test_an_assignment_is_complete_only_with_one_owner_for_each(order, cut):
    owned = [frozenset(order[:cut]), frozenset(order[cut:])]
    assert is_complete(owned, 6)
    assert not is_complete([*owned, frozenset()], 6)
    assert not is_complete([owned[0]], 6)
    assert not is_complete([owned[0] | owned[1], owned[1]], 6)
