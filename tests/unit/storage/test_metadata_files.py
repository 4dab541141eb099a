"""``meta.properties``: Kafka's is taken over, ours is one that Kafka reads."""

from __future__ import annotations

import pytest

from headrace.model.errors import InvalidConfig
from headrace.storage.metadata_files import (
    MetaProperties,
    new_uuid,
    parse_properties,
    read_meta_properties,
    uuid_from_text,
    uuid_text,
    write_meta_properties,
)
from headrace.testing.faulty_disk import FaultyDisk
from headrace.testing.metadata_bench import CountingChance

DIRECTORY_ID = bytes.fromhex("76a5039731e64c2ba2fe891ed0fe8bed")
WRITTEN_BY_KAFKA = b"""#
#Mon Nov 16 01:50:29 UTC 2026
node.id=5
directory.id=dqUDlzHmTCui_oke0P6L7Q
version=1
cluster.id=avELOgbNRWGdHB3wFkmIPw
"""


@pytest.fixture
def disk() -> FaultyDisk:
    disk = FaultyDisk()
    disk.make_directory("data")
    return disk


def read(disk: FaultyDisk) -> MetaProperties | None:
    return read_meta_properties(disk, "data", CountingChance())


def test_new_directory_has_no_identity(disk: FaultyDisk) -> None:
    assert read(disk) is None


def test_identity_of_kafka_is_taken_over(disk: FaultyDisk) -> None:
    disk.replace_file("data/meta.properties", WRITTEN_BY_KAFKA)
    assert read(disk) == MetaProperties("avELOgbNRWGdHB3wFkmIPw", 5, DIRECTORY_ID)


def test_written_identity_is_read_back_with_the_names_of_kafka(disk: FaultyDisk) -> None:
    written = MetaProperties("avELOgbNRWGdHB3wFkmIPw", 7, DIRECTORY_ID)
    write_meta_properties(disk, "data", written)
    assert read(disk) == written
    values = parse_properties(disk.read_file("data/meta.properties").decode())
    assert values == {
        "version": "1",
        "cluster.id": "avELOgbNRWGdHB3wFkmIPw",
        "node.id": "7",
        "directory.id": "dqUDlzHmTCui_oke0P6L7Q",
    }


def test_missing_directory_id_is_chosen_once(disk: FaultyDisk) -> None:
    disk.replace_file("data/meta.properties", b"version=1\nnode.id=1\ncluster.id=x\n")
    first = read(disk)
    assert first is not None
    assert len(first.directory_id) == 16
    assert read_meta_properties(disk, "data", CountingChance()) == first


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"version=0\nbroker.id=1\ncluster.id=x\n", "KRaft"),
        (b"", "KRaft"),
        (b"version=1\ncluster.id=x\n", "node.id"),
        (b"version=1\nnode.id=1\n", "cluster.id"),
        (b"version=1\nnode.id=one\ncluster.id=x\n", "one"),
        (b"version=1\nnode.id=1\ncluster.id=x\ndirectory.id=short\n", "22 characters"),
        (b"version=1\nnode.id=1\ncluster.id=x\ndirectory.id=######################\n", "base 64"),
        (b"#" * 70_000, "larger"),
    ],
)
def test_illegal_identity_is_refused(disk: FaultyDisk, content: bytes, words: str) -> None:
    disk.replace_file("data/meta.properties", content)
    with pytest.raises(InvalidConfig, match=words):
        read(disk)


def test_uuid_text_is_that_of_kafka() -> None:
    assert uuid_text(DIRECTORY_ID) == "dqUDlzHmTCui_oke0P6L7Q"
    assert uuid_from_text("dqUDlzHmTCui_oke0P6L7Q") == DIRECTORY_ID


def test_new_uuid_is_of_version_4_and_no_flag() -> None:
    class Ones:
        def __init__(self) -> None:
            self.answers = [b"\xf8" + b"\xff" * 15, b"\x01" + b"\xff" * 15]

        def random_bytes(self, count: int) -> bytes:
            return self.answers.pop(0)

        def random_float(self) -> float:
            return 0.0

    uuid = new_uuid(Ones())
    assert uuid.hex() == "01ffffffffff4fffbfffffffffffffff"
