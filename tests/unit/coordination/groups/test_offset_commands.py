"""Commit, fetch and delete offsets."""

from __future__ import annotations

import pytest

from headrace.coordination.groups.commands import (
    DeleteOffsets,
    FetchOffsets,
    ForgetTopic,
    OffsetToCommit,
    Protocol,
)
from headrace.coordination.groups.registry import GroupSettings
from headrace.model.errors import (
    CoordinatorNotAvailable,
    FencedInstance,
    GroupNotFound,
    GroupSubscribedToTopic,
    HeadraceError,
    IllegalGeneration,
    InvalidCommittedOffsetSize,
    NonEmptyGroup,
    OffsetMetadataTooLarge,
    RebalanceInProgress,
    UnknownMember,
)
from headrace.model.topic import TopicPartition
from headrace.records.build import build_batch
from headrace.testing.group_bench import GROUP, GroupBench

T0 = TopicPartition("t", 0)


@pytest.fixture
def bench() -> GroupBench:
    return GroupBench()


def test_simple_consumer_commits_without_a_group(bench: GroupBench) -> None:
    assert bench.commit(42) == [None]
    assert bench.committed() == 42
    listed = bench.group().listed()
    assert (listed.state, listed.protocol_type) == ("Empty", "")


def test_commit_survives_a_restart_with_all_that_came_with_it(bench: GroupBench) -> None:
    entry = OffsetToCommit(T0, 42, 7, "wo ich war", bytes(range(16)))
    bench.commit(0, offsets=[entry])
    (fetched,) = bench.restarted().ask(FetchOffsets(GROUP, [T0]))
    assert fetched == (T0, 42, 7, "wo ich war", False)


def test_commit_that_cannot_be_written_is_not_seen(bench: GroupBench) -> None:
    bench.commit(1)
    bench.port.is_broken = True
    assert isinstance(bench.commit(2), CoordinatorNotAvailable)
    assert bench.committed() == 1


def test_member_commits_at_its_generation_only(bench: GroupBench) -> None:
    leader, follower = bench.stable(2)
    assert bench.commit(1, leader, 1) == [None]
    refusals: list[tuple[str, int, type[HeadraceError]]] = [
        (leader, 0, IllegalGeneration),
        (leader, -1, IllegalGeneration),
        ("stranger", 1, UnknownMember),
        ("", -1, UnknownMember),
    ]
    for member_id, generation, refusal in refusals:
        assert isinstance(bench.commit(2, member_id, generation), refusal)
    bench.join(leader)
    assert bench.commit(3, follower, 1) == [None]  # while members are still being called
    bench.join(follower)
    assert isinstance(bench.commit(4, follower, 2), RebalanceInProgress)
    assert bench.committed() == 3


def test_commit_of_a_replaced_instance_is_refused(bench: GroupBench) -> None:
    token = bench.join(instance_id="a")
    bench.pass_ms(3_000)
    old_id = bench.reply(token).member_id
    bench.sync(old_id, 1)
    bench.join(instance_id="a")
    assert isinstance(bench.commit(1, old_id, 1, instance_id="a"), FencedInstance)


def test_commit_at_a_generation_needs_a_group(bench: GroupBench) -> None:
    assert isinstance(bench.commit(1, "m", 5), GroupNotFound)
    assert isinstance(bench.commit(1, "m", 5, is_epoch_checked=False), IllegalGeneration)


def test_commit_keeps_its_member_alive(bench: GroupBench) -> None:
    member = bench.stable(1)[0]
    for offset in range(4):
        bench.pass_ms(8_000)
        assert bench.commit(offset, member, 1) == [None]


def test_long_metadata_is_refused_for_its_partition_alone() -> None:
    bench = GroupBench(GroupSettings(offset_metadata_bytes_max=8))
    texts = ["12345678", "123456789", "äääää", "ä" * 4]
    entries = [OffsetToCommit(TopicPartition("t", i), i, -1, text) for i, text in enumerate(texts)]
    outcomes = bench.commit(0, offsets=entries)
    assert [type(outcome) for outcome in outcomes] == [
        type(None),
        OffsetMetadataTooLarge,
        OffsetMetadataTooLarge,
        type(None),
    ]
    assert [bench.committed(partition=i) for i in range(4)] == [0, -1, -1, 3]


def test_commit_larger_than_a_batch_may_be_is_refused_whole(bench: GroupBench) -> None:
    entries = [OffsetToCommit(TopicPartition("t", i), i, -1, "x" * 100) for i in range(300)]
    assert bench.commit(0, offsets=entries) == [None] * len(entries)
    written = bench.port.log[-len(entries) :]
    size_bytes = len(build_batch(written, timestamp_ms=0))
    bench.registry.commit_bytes_max = lambda: size_bytes
    assert bench.commit(0, offsets=entries) == [None] * len(entries)
    bench.registry.commit_bytes_max = lambda: size_bytes - 1
    later = [entry._replace(offset=1_000) for entry in entries]
    assert isinstance(bench.commit(0, offsets=later), InvalidCommittedOffsetSize)
    assert bench.committed(partition=7) == 7


def test_fetch_answers_what_was_asked_or_all(bench: GroupBench) -> None:
    bench.commit(1, topic="b", partition=1)
    bench.commit(2, topic="a", partition=0)
    asked = [TopicPartition("b", 0), TopicPartition("b", 1)]
    assert [f.offset for f in bench.ask(FetchOffsets(GROUP, asked))] == [-1, 1]
    everything = bench.ask(FetchOffsets(GROUP, None))
    assert [(f.partition.topic, f.offset) for f in everything] == [("a", 2), ("b", 1)]
    assert bench.ask(FetchOffsets("unheard", None)) == []
    assert [f.offset for f in bench.ask(FetchOffsets("unheard", asked))] == [-1, -1]


def test_offset_of_a_topic_with_another_id_is_not_shown(bench: GroupBench) -> None:
    old, new = bytes([1] * 16), bytes([2] * 16)
    bench.commit(0, offsets=[OffsetToCommit(T0, 5, -1, "", old)])
    for topic_ids, expected in (({"t": old}, 5), ({"t": new}, -1), ({}, 5)):
        (fetched,) = bench.ask(FetchOffsets(GROUP, [T0], topic_ids=topic_ids))
        assert fetched.offset == expected


def test_offsets_of_subscribed_topics_are_not_deleted(bench: GroupBench) -> None:
    member = bench.stable(1)[0]
    bench.commit(1, member, 1, topic="t")
    bench.commit(2, member, 1, topic="dropped")
    partitions = [T0, TopicPartition("dropped", 0), TopicPartition("dropped", 9)]
    kept, gone, never = bench.ask(DeleteOffsets(GROUP, partitions))
    assert isinstance(kept, GroupSubscribedToTopic)
    assert (gone, never) == (None, None)
    assert (bench.committed("t"), bench.committed("dropped")) == (1, -1)


def test_offsets_of_a_group_that_cannot_be_read_are_not_deleted(bench: GroupBench) -> None:
    bench.stable(1, protocols=(Protocol("range", b"?"),))
    assert isinstance(bench.ask(DeleteOffsets(GROUP, [T0]))[0], GroupSubscribedToTopic)


def test_offsets_of_a_group_of_other_members_are_not_deleted(bench: GroupBench) -> None:
    bench.stable(1, protocol_type="connect")
    assert isinstance(bench.ask(DeleteOffsets(GROUP, [T0])), NonEmptyGroup)


def test_offsets_of_an_empty_group_are_deleted(bench: GroupBench) -> None:
    bench.commit(1)
    assert bench.ask(DeleteOffsets(GROUP, [T0])) == [None]
    assert bench.port.log[-1].value is None
    assert bench.restarted().committed() == -1
    assert isinstance(bench.ask(DeleteOffsets("unheard", [T0])), GroupNotFound)


def test_offsets_go_with_their_topic(bench: GroupBench) -> None:
    bench.commit(1, topic="gone")
    bench.commit(2, topic="stays")
    assert bench.ask(ForgetTopic("gone")) == 1
    again = bench.restarted()
    assert (again.committed("gone"), again.committed("stays")) == (-1, 2)
