"""The engine of classic groups: replay, description, and groups that change their kind."""

from __future__ import annotations

import pytest

from headrace.coordination.groups.classic_states import ClassicState
from headrace.coordination.groups.commands import DescribeGroup, GroupKind, ListedGroup
from headrace.coordination.groups.record_codecs import group_record, group_tombstone
from headrace.coordination.groups.records import StoredGroup, StoredMember
from headrace.coordination.shard import CoordinatorRecord
from headrace.model.errors import GroupNotFound, InconsistentGroupProtocol, NotCoordinator
from headrace.testing.group_bench import GROUP, RANGE, GroupBench, join_command

MEMBER = StoredMember("m", None, "c", "/h", 30_000, 10_000, RANGE[0].metadata, b"mine")
STORED = StoredGroup("consumer", 7, "range", "m", 5, (MEMBER,))


class ForeignGroup:
    """A group of another kind; only what JoinGroup asks of it."""

    kind = GroupKind.CONSUMER
    group_id = GROUP
    is_occupied = False

    def is_empty(self) -> bool:
        return not self.is_occupied

    def tombstones(self) -> list[CoordinatorRecord]:
        return [CoordinatorRecord(b"\x00\x03tombstone", None)]

    def listed(self) -> ListedGroup:
        return ListedGroup(GROUP, "consumer", "Empty", self.kind)


def test_last_record_of_a_group_is_its_state() -> None:
    later = STORED._replace(generation=8, members=(MEMBER._replace(member_id="n"),), leader_id="n")
    bench = GroupBench(log=[group_record(GROUP, STORED), group_record(GROUP, later)])
    group = bench.group()
    assert (group.generation, group.state, list(group.members)) == (8, ClassicState.STABLE, ["n"])
    assert bench.heartbeat("n", 8) is None


def test_group_without_members_is_empty() -> None:
    bench = GroupBench(log=[group_record(GROUP, STORED._replace(members=(), leader_id=None))])
    assert bench.group().state is ClassicState.EMPTY
    assert bench.group().generation == 7


def test_tombstone_removes_a_group() -> None:
    bench = GroupBench(log=[group_record(GROUP, STORED), group_tombstone(GROUP)])
    assert GROUP not in bench.registry.groups
    assert GroupBench(log=[group_tombstone("unheard")]).registry.groups == {}


def test_offsets_read_before_their_group_belong_to_it() -> None:
    first = GroupBench()
    first.commit(5)
    bench = GroupBench(log=[*first.port.log, group_record(GROUP, STORED)])
    assert bench.group().generation == 7
    assert bench.committed() == 5


def test_description_shows_what_is_agreed_upon() -> None:
    bench = GroupBench(log=[group_record(GROUP, STORED)])
    described = bench.ask(DescribeGroup(GROUP))
    assert (described.state, described.protocol_type) == ("Stable", "consumer")
    assert described.protocol_name == "range"
    assert described.members == (("m", None, "c", "/h", RANGE[0].metadata, b"mine"),)
    bench.join("m")
    again = bench.ask(DescribeGroup(GROUP))
    assert (again.state, again.protocol_name) == ("CompletingRebalance", "")
    assert (again.members[0].metadata, again.members[0].assignment) == (b"", b"")
    assert isinstance(bench.ask(DescribeGroup("unheard")), GroupNotFound)


def test_empty_group_of_another_kind_becomes_classic() -> None:
    bench = GroupBench()
    foreign = ForeignGroup()
    bench.registry.groups[GROUP] = foreign  # type: ignore[assignment]
    bench.ask(join_command())
    assert bench.group().kind is GroupKind.CLASSIC
    assert bench.port.log == foreign.tombstones()


@pytest.mark.parametrize("protocols", [(), RANGE])
def test_group_of_another_kind_stays_if_the_join_is_refused(protocols: tuple) -> None:
    bench = GroupBench()
    foreign = ForeignGroup()
    foreign.is_occupied = bool(protocols)
    bench.registry.groups[GROUP] = foreign  # type: ignore[assignment]
    refusal = bench.ask(join_command(protocols=protocols))
    assert isinstance(refusal, InconsistentGroupProtocol)
    assert bench.registry.groups[GROUP] is foreign


def test_unloading_sends_away_whoever_waits() -> None:
    bench = GroupBench()
    _, token = bench.enter()
    decision = bench.classic.unload(NotCoordinator("moved"))
    assert [waiting for waiting, _ in decision.replies] == [token]
    assert isinstance(decision.replies[0][1], NotCoordinator)
