"""The door to groups: placing, creating, loading, restarting."""

from __future__ import annotations

import pytest

from headrace.broker import shard_loading
from headrace.broker.groups import group_settings, partition_of
from headrace.config.broker import BrokerConfig
from headrace.coordination.groups.commands import (
    CommitOffsets,
    FetchOffsets,
    Heartbeat,
    ListGroups,
    OffsetToCommit,
    SyncGroup,
)
from headrace.coordination.groups.consumer_commands import ConsumerHeartbeat
from headrace.coordination.groups.registry import GroupSettings
from headrace.metrics.registry import GroupSample, LagSample
from headrace.model.errors import (
    CoordinatorLoading,
    CoordinatorNotAvailable,
    DiskFull,
    InconsistentGroupProtocol,
    InvalidGroupId,
    MemberIdRequired,
    NotCoordinator,
    UnknownMember,
)
from headrace.model.topic import CONSUMER_OFFSETS_TOPIC, TopicPartition
from headrace.testing.group_bench import join_command
from headrace.testing.group_door import GroupDoor


def commit(door: GroupDoor, group_id: str, offset: int, topic: str = "t") -> object:
    entry = OffsetToCommit(TopicPartition(topic, 0), offset, -1, "")
    return door.ask(group_id, CommitOffsets(group_id, "", None, -1, [entry]))


def committed(door: GroupDoor, group_id: str, topic: str = "t") -> object:
    reply = door.ask(group_id, FetchOffsets(group_id, [TopicPartition(topic, 0)]))
    return reply if isinstance(reply, Exception) else reply[0].offset


@pytest.mark.parametrize(
    ("group_id", "partition"),
    # As java.lang.String.hashCode has it, sign taken off, over 50 partitions.
    [
        ("", 0),
        ("g", 3),
        ("console-consumer-12345", 6),
        ("grün", 49),
        ("😀", 49),
        ("polygenelubricants", 0),
    ],
)
def test_group_is_placed_where_kafka_places_it(group_id: str, partition: int) -> None:
    assert partition_of(group_id, 50) == partition


def test_topic_is_made_on_first_use() -> None:
    door = GroupDoor()
    assert CONSUMER_OFFSETS_TOPIC not in door.bench.topics
    assert commit(door, "g", 5) == [None]
    topic = door.bench.topics.get(CONSUMER_OFFSETS_TOPIC)
    assert topic is not None
    assert len(topic.partitions) == 4
    assert topic.config.cleanup_policy == {"compact"}
    assert topic.partitions[partition_of("g", 4)].log.log_end_offset == 1


def test_groups_survive_a_restart() -> None:
    door = GroupDoor()
    for number in range(20):
        commit(door, f"group-{number}", number)
    door.restart()
    assert [committed(door, f"group-{n}") for n in range(20)] == list(range(20))


def test_long_log_is_read_while_others_are_served(monkeypatch: pytest.MonkeyPatch) -> None:
    door = GroupDoor()
    for offset in range(30):
        commit(door, "g", offset)
    monkeypatch.setattr(shard_loading, "RECORDS_BEFORE_SERVING_MAX", 10)
    monkeypatch.setattr(shard_loading, "RECORDS_PER_SLICE", 10)
    door.restart()
    assert isinstance(committed(door, "g"), CoordinatorLoading)
    replies: list[object] = []
    door.groups.list_groups(ListGroups(), replies.append)
    assert isinstance(replies[0], CoordinatorLoading)
    door.pass_seconds(0.1)
    assert committed(door, "g") == 29


def test_topic_deleted_while_loading_takes_its_offsets_along(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    door = GroupDoor()
    door.bench.create("t")
    commit(door, "g", 1)
    commit(door, "g", 2, "stays")
    monkeypatch.setattr(shard_loading, "RECORDS_BEFORE_SERVING_MAX", 0)
    door.restart()
    door.bench.changes.delete("t")
    door.pass_seconds(1)
    assert (committed(door, "g"), committed(door, "g", "stays")) == (-1, 2)


def test_full_disk_is_told_as_no_coordinator() -> None:
    door = GroupDoor()
    commit(door, "g", 1)
    door.bench.disk.fail_next("write", DiskFull("no space left"))
    assert isinstance(commit(door, "g", 2), CoordinatorNotAvailable)
    assert committed(door, "g") == 1


@pytest.mark.parametrize("group_id", ["", "x" * 32_768])
def test_illegal_group_id_is_refused(group_id: str) -> None:
    door = GroupDoor()
    assert isinstance(door.ask(group_id, Heartbeat(group_id, 1, "m", None)), InvalidGroupId)


def test_nameless_group_holds_offsets() -> None:
    door = GroupDoor()
    assert commit(door, "", 3) == [None]
    assert committed(door, "") == 3


def test_all_shards_are_listed() -> None:
    door = GroupDoor()
    replies: list[list] = []
    door.groups.list_groups(ListGroups(), replies.append)
    assert replies == [[]]
    for number in range(10):
        commit(door, f"group-{number}", number)
    door.groups.list_groups(ListGroups(), replies.append)
    assert sorted(each.group_id for each in replies[1]) == [f"group-{n}" for n in range(10)]


def test_deadlines_are_kept_by_a_timer() -> None:
    door = GroupDoor()
    joined: list = []
    door.groups.submit("orders", join_command(member_id_required=False), joined.append)
    door.pass_seconds(0.01)
    member_id = joined[0].member_id
    door.ask("orders", SyncGroup("orders", 1, member_id, None, None, None, {}))
    beat = Heartbeat("orders", 1, member_id, None)
    for _ in range(3):
        door.pass_seconds(8)
        assert door.ask("orders", beat) is None
    door.bench.clock.jump_to(door.bench.clock.now_ms() + 3_600_000)
    door.pass_seconds(8)
    assert door.ask("orders", beat) is None, "a step of the wall clock ends no session"
    door.pass_seconds(11)
    assert isinstance(door.ask("orders", beat), UnknownMember)


def test_waiting_members_are_sent_away_at_the_end() -> None:
    door = GroupDoor({"group.initial.rebalance.delay.ms": "3000"})
    replies: list = []
    door.groups.submit("orders", join_command(member_id_required=False), replies.append)
    door.groups.close()
    assert isinstance(replies[0], NotCoordinator)
    assert isinstance(commit(door, "g", 1), NotCoordinator)


def test_groups_start_anew_when_their_topic_is_deleted() -> None:
    door = GroupDoor()
    commit(door, "g", 1)
    door.bench.changes.delete(CONSUMER_OFFSETS_TOPIC)
    assert committed(door, "g") == -1
    assert commit(door, "g", 2) == [None]


def test_samples_tell_members_and_lag() -> None:
    door = GroupDoor()
    door.bench.create("t")
    commit(door, "g", 0)
    commit(door, "g", 5, "unheard")
    assert list(door.groups.group_samples()) == [GroupSample("g", "classic", 0)]
    assert list(door.groups.lag_samples()) == [LagSample("g", "t", 0, 0, 0)]


def test_settings_come_from_the_brokers() -> None:
    assert group_settings(BrokerConfig.resolve({})) == GroupSettings()


def kind_of(door: GroupDoor, group_id: str) -> str:
    replies: list[list] = []
    door.groups.list_groups(ListGroups(), replies.append)
    (kind,) = [each.kind for each in replies[0] if each.group_id == group_id]
    return kind


def test_empty_group_changes_its_kind_and_keeps_its_offsets() -> None:
    door = GroupDoor()
    door.bench.create("t")
    commit(door, "orders", 5)
    beat = ConsumerHeartbeat(
        "orders", "m", 0, rebalance_timeout_ms=9_000, topic_names=frozenset({"t"}), owned={}
    )
    assert door.ask("orders", beat).member_epoch > 0
    assert (kind_of(door, "orders"), committed(door, "orders")) == ("consumer", 5)
    refused = door.ask("orders", join_command())
    assert isinstance(refused, InconsistentGroupProtocol)
    door.restart()
    assert (kind_of(door, "orders"), committed(door, "orders")) == ("consumer", 5)
    door.ask("orders", ConsumerHeartbeat("orders", "m", -1))
    assert isinstance(door.ask("orders", join_command()), MemberIdRequired)
    assert (kind_of(door, "orders"), committed(door, "orders")) == ("classic", 5)
    door.restart()
    assert (kind_of(door, "orders"), committed(door, "orders")) == ("classic", 5)


def test_answer_waits_for_the_disk_if_the_topic_demands_it() -> None:
    door = GroupDoor({"durability": "fsync"})
    door.groups.prepare("g")
    door.bench.settle()
    replies: list = []
    entry = OffsetToCommit(TopicPartition("t", 0), 7, -1, "")
    fetch = FetchOffsets("g", [TopicPartition("t", 0)])
    door.groups.submit("g", CommitOffsets("g", "", None, -1, [entry]), replies.append)
    door.groups.submit("g", fetch, replies.append)
    assert replies == []
    door.bench.settle()
    assert replies[0] == [None]
    assert replies[1][0].offset == 7
