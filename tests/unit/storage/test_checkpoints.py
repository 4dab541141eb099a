"""Kafka's text files, byte for byte."""

from __future__ import annotations

import pytest

from headrace.model.errors import DamagedLog
from headrace.model.topic import TopicPartition
from headrace.storage import checkpoints
from headrace.testing.faulty_disk import FaultyDisk

OFFSETS = {TopicPartition("a", 0): 5, TopicPartition("b.c-d", 12): 0}


@pytest.fixture
def disk() -> FaultyDisk:
    return FaultyDisk()


def test_offsets_are_written_as_kafka_writes_them(disk):
    checkpoints.write_offsets(disk, "points", OFFSETS)
    assert disk.read_file("points") == b"0\n2\na 0 5\nb.c-d 12 0\n"
    assert checkpoints.read_offsets(disk, "points") == OFFSETS


def test_no_file_is_no_offsets(disk):
    assert checkpoints.read_offsets(disk, "points") == {}


@pytest.mark.parametrize(
    "content",
    [b"", b"1\n0\n", b"0\n2\na 0 5\n", b"0\n1\na 0\n", b"0\n1\na 0 x\n", b"0\nx\n", b"\xff\xfe\n"],
)
def test_damaged_checkpoint_is_named(disk, content):
    disk.replace_file("points", content)
    with pytest.raises(DamagedLog, match="points"):
        checkpoints.read_offsets(disk, "points")


def test_stable_offsets_and_epochs_come_back(disk):
    stable = {TopicPartition("a", 1): (10, 7)}
    checkpoints.write_stable_offsets(disk, "stable", stable)
    assert checkpoints.read_stable_offsets(disk, "stable") == stable
    checkpoints.write_epochs(disk, "epochs", [(0, 0), (3, 17)], sync=True)
    assert disk.read_file("epochs") == b"0\n2\n0 0\n3 17\n"
    assert checkpoints.read_epochs(disk, "epochs") == [(0, 0), (3, 17)]


def test_single_offset_comes_back(disk):
    checkpoints.write_single_offset(disk, "from", 42)
    assert checkpoints.read_single_offset(disk, "from") == 42
    disk.replace_file("from", b"0\n0\n")
    with pytest.raises(DamagedLog):
        checkpoints.read_single_offset(disk, "from")


def test_partition_metadata_has_the_id_in_kafkas_form(disk):
    topic_id = bytes(range(16))
    content = checkpoints.partition_metadata(topic_id)
    assert content == b"version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw"
    disk.replace_file("partition.metadata", content)
    assert checkpoints.read_partition_metadata(disk, "partition.metadata") == topic_id


@pytest.mark.parametrize("content", [b"", b"version: 0\n", b"version: 1\ntopic_id: AAAA"])
def test_damaged_partition_metadata_is_named(disk, content):
    disk.replace_file("partition.metadata", content)
    with pytest.raises(DamagedLog, match=r"partition\.metadata"):
        checkpoints.read_partition_metadata(disk, "partition.metadata")
