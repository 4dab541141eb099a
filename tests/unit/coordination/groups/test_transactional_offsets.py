"""Offsets committed within transactions, from the commit to the marker."""

from __future__ import annotations

import pytest

from headrace.coordination.groups.commands import (
    DeleteGroup,
    DeleteOffsets,
    FetchOffsets,
    ForgetTopic,
    OffsetToCommit,
)
from headrace.coordination.groups.record_codecs import group_tombstone, offset_tombstone
from headrace.coordination.groups.registry import GroupSettings
from headrace.coordination.groups.transactional_records import PendingRecord
from headrace.model.errors import (
    CoordinatorNotAvailable,
    FencedInstance,
    HeadraceError,
    IllegalGeneration,
    InvalidCommittedOffsetSize,
    OffsetMetadataTooLarge,
    UnknownMember,
)
from headrace.model.topic import TopicPartition
from headrace.testing.group_bench import GROUP, GroupBench

T0 = TopicPartition("t", 0)
RETENTION_MS = 3_600_000
SETTINGS = GroupSettings(
    offset_metadata_bytes_max=8,
    offsets_retention_ms=RETENTION_MS,
    offsets_retention_check_interval_ms=60_000,
)


@pytest.fixture
def bench() -> GroupBench:
    return GroupBench(SETTINGS)


def stable_offset(bench: GroupBench, partition: TopicPartition = T0) -> int | None:
    """None while it is unstable."""
    (fetched,) = bench.ask(FetchOffsets(GROUP, [partition], require_stable=True))
    return None if fetched.is_unstable else fetched.offset


def test_offset_counts_when_the_transaction_commits(bench: GroupBench) -> None:
    bench.commit(1)
    assert bench.commit_pending(5) == [None]
    assert (bench.committed(), stable_offset(bench)) == (1, None)
    bench.end()
    assert (bench.committed(), stable_offset(bench)) == (5, 5)
    assert bench.restarted().committed() == 5


def test_offset_of_an_aborted_transaction_never_counts(bench: GroupBench) -> None:
    bench.commit(1)
    bench.commit_pending(5)
    bench.end(is_commit=False)
    assert (bench.committed(), stable_offset(bench)) == (1, 1)
    assert bench.restarted().committed() == 1


def test_open_transaction_survives_a_restart(bench: GroupBench) -> None:
    bench.commit_pending(5)
    bench = bench.restarted()
    assert (bench.committed(), stable_offset(bench)) == (-1, None)
    assert GROUP in bench.registry.groups
    bench.end()
    assert bench.committed() == 5


def test_record_bears_its_producer(bench: GroupBench) -> None:
    bench.commit_pending(5, 9, producer_epoch=3)
    record = bench.port.log[-1]
    assert isinstance(record, PendingRecord)
    assert (record.producer_id, record.producer_epoch) == (9, 3)


def test_later_commit_is_not_undone_by_a_marker(bench: GroupBench) -> None:
    bench.commit_pending(5)
    bench.commit(8)
    assert stable_offset(bench) is None
    bench.end()
    assert (bench.committed(), stable_offset(bench)) == (8, 8)


def test_unstable_is_told_only_to_those_who_ask(bench: GroupBench) -> None:
    bench.commit(1)
    bench.commit(2, partition=1)
    bench.commit_pending(5)
    bench.commit_pending(6, partition=2)
    plain, strict = (
        bench.ask(FetchOffsets(GROUP, None, require_stable=stable)) for stable in (False, True)
    )
    assert [(f.offset, f.is_unstable) for f in plain] == [(1, False), (2, False)]
    assert [(f.offset, f.is_unstable) for f in strict] == [(-1, True), (2, False)]
    assert stable_offset(bench, TopicPartition("t", 2)) is None


def test_member_may_be_named_and_is_checked_then(bench: GroupBench) -> None:
    leader, _ = bench.stable(2)
    assert bench.commit_pending(1) == [None]
    assert bench.commit_pending(2, member_id=leader, generation=1) == [None]
    refusals: list[tuple[str, int, type[HeadraceError]]] = [
        (leader, 0, IllegalGeneration),
        (leader, -1, IllegalGeneration),
        ("stranger", 1, UnknownMember),
        ("", 1, UnknownMember),
    ]
    for member_id, generation, refusal in refusals:
        reply = bench.commit_pending(3, member_id=member_id, generation=generation)
        assert isinstance(reply, refusal)
    bench.join(leader)
    assert bench.commit_pending(4, member_id=leader, generation=1) == [None]


def test_replaced_instance_is_refused(bench: GroupBench) -> None:
    token = bench.join(instance_id="a")
    bench.pass_ms(3_000)
    old_id = bench.reply(token).member_id
    bench.sync(old_id, 1)
    bench.join(instance_id="a")
    reply = bench.commit_pending(1, member_id=old_id, generation=1, instance_id="a")
    assert isinstance(reply, FencedInstance)


def test_generation_needs_a_group(bench: GroupBench) -> None:
    assert isinstance(bench.commit_pending(1, member_id="m", generation=5), IllegalGeneration)
    assert bench.commit_pending(1, member_id="m") == [None]
    assert bench.commit_pending(2, member_id="m") == [None]  # the group is empty


def test_long_metadata_is_refused_for_its_partition_alone(bench: GroupBench) -> None:
    entries = [
        OffsetToCommit(TopicPartition("t", i), i, -1, text) for i, text in enumerate(["x" * 9, "x"])
    ]
    refused, taken = bench.commit_pending(0, offsets=entries)
    assert isinstance(refused, OffsetMetadataTooLarge)
    assert taken is None
    bench.end()
    assert [bench.committed(partition=i) for i in range(2)] == [-1, 1]


def test_commit_larger_than_a_batch_may_be_leaves_nothing_pending(bench: GroupBench) -> None:
    bench.registry.commit_bytes_max = lambda: 100
    assert isinstance(bench.commit_pending(5), InvalidCommittedOffsetSize)
    assert stable_offset(bench) == -1


def test_commit_that_cannot_be_written_is_not_pending(bench: GroupBench) -> None:
    bench.port.is_broken = True
    assert isinstance(bench.commit_pending(1), CoordinatorNotAvailable)
    assert stable_offset(bench) == -1


def test_deleted_offset_does_not_come_back(bench: GroupBench) -> None:
    bench.commit_pending(5)
    assert bench.ask(DeleteOffsets(GROUP, [T0])) == [None]
    assert bench.port.log[-1] == offset_tombstone(GROUP, T0)
    assert stable_offset(bench) == -1
    bench.end()
    assert bench.committed() == -1
    assert bench.restarted().committed() == -1


def test_deleted_topic_takes_pending_offsets_along(bench: GroupBench) -> None:
    bench.commit(1)
    bench.commit_pending(5)
    bench.commit_pending(6, partition=1)
    bench.commit_pending(7, topic="stays")
    assert bench.ask(ForgetTopic("t")) == 2
    bench.end()
    assert [bench.committed("t", 0), bench.committed("t", 1)] == [-1, -1]
    assert bench.committed("stays") == 7


def test_deleted_group_takes_pending_offsets_along(bench: GroupBench) -> None:
    bench.commit_pending(5)
    assert bench.ask(DeleteGroup(GROUP)) is None
    assert bench.port.log[-2:] == [offset_tombstone(GROUP, T0), group_tombstone(GROUP)]
    bench.end()
    assert bench.committed() == -1
    assert GROUP not in bench.registry.groups


def test_open_transaction_keeps_offset_and_group_from_expiring(bench: GroupBench) -> None:
    bench.commit(1)
    bench.commit(2, partition=1)
    bench.commit_pending(5)
    bench.pass_ms(2 * RETENTION_MS)
    assert [bench.committed(partition=i) for i in range(2)] == [1, -1]
    bench.end(is_commit=False)
    bench.pass_ms(RETENTION_MS)
    assert bench.committed() == -1
    assert GROUP not in bench.registry.groups


def test_group_with_nothing_but_an_open_transaction_stays(bench: GroupBench) -> None:
    bench.commit_pending(5)
    bench.pass_ms(2 * RETENTION_MS)
    assert GROUP in bench.registry.groups
    bench.end()
    assert bench.committed() == 5


def test_marker_of_a_stranger_means_nothing(bench: GroupBench) -> None:
    bench.commit_pending(5)
    bench.end(99)
    assert stable_offset(bench) is None


def test_other_records_in_a_transaction_do_not_wait(bench: GroupBench) -> None:
    """Kafka writes nothing of the kind, but this is what it would do with it."""
    bench.commit(1)
    bench.machine.replay(PendingRecord(*offset_tombstone(GROUP, T0), 7, 0))
    assert bench.committed() == -1
    bench.machine.replay(PendingRecord(*group_tombstone(GROUP), 7, 0))
    assert GROUP not in bench.registry.groups
