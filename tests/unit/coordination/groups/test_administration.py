"""Listing and deleting groups."""

from __future__ import annotations

import pytest

from headrace.coordination.groups.commands import DeleteGroup, ListedGroup, ListGroups
from headrace.model.errors import GroupNotFound, NonEmptyGroup
from headrace.testing.group_bench import GROUP, GroupBench


@pytest.fixture
def bench() -> GroupBench:
    """A stable group, and a simple one."""
    bench = GroupBench()
    bench.stable(1)
    bench.commit(1, group_id="simple")
    return bench


def names(listed: list[ListedGroup]) -> list[str]:
    return sorted(group.group_id for group in listed)


def test_groups_are_listed_by_state_and_kind(bench: GroupBench) -> None:
    def listed(states: set[str], kinds: set[str]) -> list[str]:
        return names(bench.ask(ListGroups(frozenset(states), frozenset(kinds))))

    assert listed(set(), set()) == [GROUP, "simple"]
    assert listed({"stable"}, set()) == [GROUP]
    assert listed({"Stable", "EMPTY"}, {"Classic"}) == [GROUP, "simple"]
    assert listed(set(), {"consumer"}) == []
    assert listed({"unheard"}, set()) == []


def test_group_with_members_is_not_deleted(bench: GroupBench) -> None:
    assert isinstance(bench.ask(DeleteGroup(GROUP)), NonEmptyGroup)
    assert isinstance(bench.ask(DeleteGroup("unheard")), GroupNotFound)


def test_group_is_deleted_with_its_offsets(bench: GroupBench) -> None:
    assert bench.ask(DeleteGroup("simple")) is None
    for each in (bench, bench.restarted()):
        assert names(each.ask(ListGroups())) == [GROUP]
        assert each.committed(group_id="simple") == -1


def test_deleted_group_can_be_made_again(bench: GroupBench) -> None:
    bench.leave(*bench.group().members)
    assert bench.ask(DeleteGroup(GROUP)) is None
    assert bench.stable(1)
    assert bench.group().generation == 1
