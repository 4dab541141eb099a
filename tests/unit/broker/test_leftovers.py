"""Directories that the metadata does not explain."""

from __future__ import annotations

import pytest

from headrace.broker.leftovers import clear_leftovers
from headrace.coordination.metadata.records import PartitionRecord, TopicRecord
from headrace.coordination.metadata.state import MetadataState
from headrace.storage.metadata_files import uuid_text
from headrace.testing.faulty_disk import FaultyDisk

LIVE, DEAD, OTHER = b"l" * 16, b"d" * 16, b"o" * 16


@pytest.fixture
def disk() -> FaultyDisk:
    disk = FaultyDisk()
    disk.make_directory("data")
    return disk


def add_directory(disk: FaultyDisk, name: str, topic_id: bytes | None) -> None:
    disk.make_directory(f"data/{name}")
    if topic_id is not None:
        text = f"version: 0\ntopic_id: {uuid_text(topic_id)}"
        disk.replace_file(f"data/{name}/partition.metadata", text.encode())


def live_state() -> MetadataState:
    state = MetadataState()
    state.replay(TopicRecord("live", LIVE))
    state.replay(PartitionRecord(0, LIVE, (1,), (1,), 1, 0, 0))
    return state


def test_what_belongs_here_is_left_alone(disk: FaultyDisk) -> None:
    add_directory(disk, "live-0", LIVE)
    add_directory(disk, "__cluster_metadata-0", None)
    add_directory(disk, "gone-0.abc-delete", DEAD)
    disk.replace_file("data/meta.properties", b"")
    assert clear_leftovers(disk, "data", live_state(), {DEAD: "gone"}) == []
    assert disk.exists("data/live-0")
    assert disk.exists("data/gone-0.abc-delete")


def test_deletion_that_was_begun_is_finished(disk: FaultyDisk) -> None:
    add_directory(disk, "gone-0", DEAD)
    add_directory(disk, "gone-1", DEAD)
    assert clear_leftovers(disk, "data", live_state(), {DEAD: "gone"}) == [
        "deletion was finished of: gone-0, gone-1"
    ]
    assert disk.list("data") == []


def test_unknown_directories_are_left_alone_and_told(disk: FaultyDisk) -> None:
    for index in range(7):
        add_directory(disk, f"mystery-{index}", OTHER if index else None)
    (sentence,) = clear_leftovers(disk, "data", live_state(), {DEAD: "gone"})
    assert sentence.startswith("directories that belong to no topic are left alone: mystery-0")
    assert sentence.endswith("and 2 more")
    assert len(disk.list("data")) == 7


def test_deleted_topic_makes_room_for_its_successor(disk: FaultyDisk) -> None:
    add_directory(disk, "live-0", DEAD)
    clear_leftovers(disk, "data", live_state(), {DEAD: "live"})
    assert not disk.exists("data/live-0")


def test_stranger_with_the_name_of_a_topic_is_set_aside(disk: FaultyDisk) -> None:
    add_directory(disk, "live-0", OTHER)
    (sentence,) = clear_leftovers(disk, "data", live_state(), {DEAD: "live"})
    assert "live-0" in sentence
    assert disk.list("data") == [f"live-0.{uuid_text(OTHER)}-stray"]


def test_illegible_partition_metadata_says_nothing(disk: FaultyDisk) -> None:
    add_directory(disk, "mystery-0", None)
    disk.replace_file("data/mystery-0/partition.metadata", b"version: 0\ntopic_id: ???\n")
    disk.make_directory("data/mystery-1")
    disk.replace_file("data/mystery-1/partition.metadata", b"\xff\xfe")
    (sentence,) = clear_leftovers(disk, "data", live_state(), {DEAD: "gone"})
    assert sentence.endswith("mystery-0, mystery-1")
