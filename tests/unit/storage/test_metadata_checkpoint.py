"""Snapshot files: names, what is in them, and when they do not count."""

from __future__ import annotations

import pytest

from headrace.model.errors import DamagedLog
from headrace.records.header import batches
from headrace.storage.metadata_checkpoint import (
    RECORDS_PER_BATCH_MAX,
    Checkpoint,
    build_checkpoint,
    checkpoints_among,
    read_checkpoint,
)
from headrace.testing.faulty_disk import FaultyDisk

NOW_MS = 1_700_000_000_000


def disk_with(data: bytes) -> FaultyDisk:
    disk = FaultyDisk()
    disk.replace_file("file", data)
    return disk


def test_names_are_sorted_and_others_are_left_out() -> None:
    names = [
        "00000000000000000120-0000000003.checkpoint",
        "00000000000000000007-0000000001.checkpoint",
        "00000000000000000200-0000000003.checkpoint.part",
        "00000000000000000000.log",
        "bootstrap.checkpoint",
    ]
    found = checkpoints_among(names)
    assert found == [Checkpoint(7, 1), Checkpoint(120, 3)]
    assert found[1].file_name == names[0]


@pytest.mark.parametrize("count", [0, 1, RECORDS_PER_BATCH_MAX, 2 * RECORDS_PER_BATCH_MAX + 1])
def test_values_are_read_back_in_order(count: int) -> None:
    values = [str(number).encode() for number in range(count)]
    data = build_checkpoint(values, 3, NOW_MS)
    assert read_checkpoint(disk_with(data), "file") == values


def test_offsets_are_those_of_the_file_and_header_and_footer_are_control_records() -> None:
    data = build_checkpoint([b"a", b"b", b"c"], 3, NOW_MS)
    headers = [header for _, header in batches(data)]
    assert [header.base_offset for header in headers] == [0, 1, 4]
    assert [header.is_control for header in headers] == [True, False, True]
    assert {header.leader_epoch for header in headers} == {3}


def test_snapshot_without_its_footer_does_not_count() -> None:
    data = build_checkpoint([b"a", b"b"], 1, NOW_MS)
    footer_position = [position for position, _ in batches(data)][-1]
    for end in (footer_position, footer_position + 5, len(data) - 1):
        with pytest.raises(DamagedLog, match="footer"):
            read_checkpoint(disk_with(data[:end]), "file")


def test_flipped_bit_is_found_wherever_it_is() -> None:
    data = build_checkpoint([b"value"], 1, NOW_MS)
    for position in range(len(data)):
        # Base offset and leader epoch of a batch are outside of its checksum, and say nothing here.
        if any(
            start <= position < start + 8 or start + 12 <= position < start + 16
            for start, _ in batches(data)
        ):
            continue
        damaged = bytearray(data)
        damaged[position] ^= 0x10
        with pytest.raises(DamagedLog):
            read_checkpoint(disk_with(damaged), "file")
