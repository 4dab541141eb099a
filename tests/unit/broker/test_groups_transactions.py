"""The door to groups, as transactions use it: where a group lives, and what a marker does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.broker import shard_loading
from headrace.coordination.groups.commands import (
    CommitOffsets,
    CommitTransactionalOffsets,
    FetchOffsets,
    OffsetToCommit,
)
from headrace.model.errors import CoordinatorLoading, InvalidGroupId, InvalidProducerEpoch
from headrace.model.topic import CONSUMER_OFFSETS_TOPIC, TopicPartition
from headrace.records.header import read_header
from headrace.storage.control_batch import build_end_marker
from headrace.storage.log_port import Origin
from headrace.testing.group_door import GroupDoor

if TYPE_CHECKING:
    from headrace.storage.log_port import Log

T0 = TopicPartition("t", 0)
PRODUCER = 7


def commit(door: GroupDoor, offset: int) -> object:
    entry = OffsetToCommit(T0, offset, -1, "")
    return door.ask("g", CommitOffsets("g", "", None, -1, [entry]))


def commit_pending(door: GroupDoor, offset: int, epoch: int = 0) -> object:
    entry = OffsetToCommit(T0, offset, -1, "")
    command = CommitTransactionalOffsets("g", "", None, -1, [entry], PRODUCER, epoch)
    return door.ask("g", command)


def committed(door: GroupDoor) -> int | str | Exception:
    reply = door.ask("g", FetchOffsets("g", [T0], require_stable=True))
    if isinstance(reply, Exception):
        return reply
    return "unstable" if reply[0].is_unstable else reply[0].offset


def log_of(door: GroupDoor) -> Log:
    log = door.bench.logs.get(door.groups.partition_of_group("g"))
    assert log is not None
    return log


def append_marker(door: GroupDoor, *, is_commit: bool = True, epoch: int = 0) -> None:
    marker = build_end_marker(
        PRODUCER, epoch, is_commit=is_commit, coordinator_epoch=0, timestamp_ms=1
    )
    door.bench.logs.append([(log_of(door), marker)], origin=Origin.COORDINATOR)


def end(door: GroupDoor, *, is_commit: bool = True, epoch: int = 0) -> None:
    append_marker(door, is_commit=is_commit, epoch=epoch)
    index = door.groups.partition_of_group("g").partition
    door.groups.transaction_ended(index, PRODUCER, epoch, is_commit)


def test_place_of_a_group_is_told_and_made() -> None:
    door = GroupDoor()
    assert door.groups.partition_of_group("g") == TopicPartition(CONSUMER_OFFSETS_TOPIC, 3)
    assert CONSUMER_OFFSETS_TOPIC in door.bench.topics
    for group_id in ("", "x" * 32_768):
        with pytest.raises(InvalidGroupId):
            door.groups.partition_of_group(group_id)


def test_pending_offset_is_a_batch_of_the_transaction() -> None:
    """As Kafka writes it: the producer's id and epoch, no sequence; the log knows it is open."""
    door = GroupDoor()
    commit_pending(door, 5, epoch=2)
    log = log_of(door)
    header = read_header(next(log.records_from()))
    assert header.is_transactional
    assert not header.is_control
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (PRODUCER, 2, -1)
    assert log.last_stable_offset == 0
    end(door, epoch=2)
    assert log.last_stable_offset == log.high_watermark == 2


@pytest.mark.parametrize(("is_commit", "expected"), [(True, 5), (False, 1)])
def test_marker_decides_also_after_a_restart(is_commit: bool, expected: int) -> None:
    door = GroupDoor()
    commit(door, 1)
    commit_pending(door, 5)
    door.restart()
    assert committed(door) == "unstable"
    end(door, is_commit=is_commit)
    assert committed(door) == expected
    door.restart()
    assert committed(door) == expected


def test_replaced_producer_commits_no_offsets() -> None:
    door = GroupDoor()
    commit_pending(door, 5, epoch=1)
    assert isinstance(commit_pending(door, 9, epoch=0), InvalidProducerEpoch)
    end(door, epoch=2)
    assert isinstance(commit_pending(door, 9, epoch=1), InvalidProducerEpoch)
    assert committed(door) == 5
    assert commit_pending(door, 6, epoch=2) == [None]


def test_marker_that_comes_while_the_log_is_read_counts_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    door = GroupDoor({"offsets.topic.num.partitions": "1"})
    commit(door, 1)
    commit_pending(door, 5)
    monkeypatch.setattr(shard_loading, "RECORDS_BEFORE_SERVING_MAX", 2)
    door.restart()
    assert isinstance(committed(door), CoordinatorLoading)
    end(door)
    door.pass_seconds(1)
    assert committed(door) == 5


def test_offset_is_not_shown_before_the_marker_is_durable() -> None:
    door = GroupDoor({"durability": "fsync"})
    door.bench.settle()
    entry = OffsetToCommit(T0, 5, -1, "")
    command = CommitTransactionalOffsets("g", "", None, -1, [entry], PRODUCER, 0)
    replies: list = []
    door.groups.submit("g", command, replies.append)
    door.bench.settle()
    assert replies == [[None]]
    end(door)
    door.groups.submit("g", FetchOffsets("g", [T0]), replies.append)
    assert len(replies) == 1
    door.bench.settle()
    assert replies[1][0].offset == 5


def test_end_is_not_missed_by_a_broker_that_stops() -> None:
    door = GroupDoor()
    commit_pending(door, 5)
    index = door.groups.partition_of_group("g").partition
    append_marker(door)
    door.groups.close()
    door.groups.transaction_ended(index, PRODUCER, 0, is_commit=True)
    door.bench.restart()
    door.open()
    assert committed(door) == 5
