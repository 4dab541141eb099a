"""The identity of a directory is chosen once."""

from __future__ import annotations

from headrace.broker.cluster_info import identify
from headrace.storage.metadata_files import uuid_from_text
from headrace.testing.faulty_disk import FaultyDisk
from headrace.testing.metadata_bench import CountingChance


def test_new_directory_gets_an_identity_that_stays() -> None:
    disk, chance = FaultyDisk(), CountingChance()
    first = identify(disk, "data", chance, 3)
    assert first.is_new
    assert first.node_id == 3
    assert len(uuid_from_text(first.cluster_id)) == 16
    again = identify(disk, "data", chance, 4)
    assert again == first._replace(is_new=False)


def test_ids_of_cluster_and_directory_differ() -> None:
    info = identify(FaultyDisk(), "data", CountingChance(), 1)
    assert uuid_from_text(info.cluster_id) != info.node.directory_id
