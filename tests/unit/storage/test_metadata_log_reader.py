"""Reading a metadata log that a crash, a bad disk or Kafka has left."""

from __future__ import annotations

import pytest

from headrace.model.errors import DamagedLog
from headrace.records.build import build_batch
from headrace.storage.metadata_checkpoint import build_checkpoint
from headrace.storage.metadata_log_reader import read_metadata_log
from headrace.testing.faulty_disk import FaultyDisk

SEGMENT = "log/00000000000000000000.log"


def batch(base_offset: int, *values: bytes, epoch: int = 1, control: bool = False) -> bytes:
    key = b"\x00\x00\x00\x02" if control else None
    return bytes(
        build_batch(
            [(key, value) for value in values],
            base_offset=base_offset,
            timestamp_ms=1,
            leader_epoch=epoch,
            control=control,
        )
    )


def disk_with(**files: bytes) -> FaultyDisk:
    """Names: ``log_20`` for a segment at 20, ``snapshot_20`` for a snapshot that ends at 20."""
    disk = FaultyDisk()
    disk.make_directory("log")
    for name, data in files.items():
        kind, _, offset = name.partition("_")
        suffix = ".log" if kind == "log" else "-0000000001.checkpoint"
        disk.replace_file(f"log/{int(offset):020d}{suffix}", data)
    return disk


def test_directory_that_does_not_exist_is_an_empty_log() -> None:
    contents = read_metadata_log(FaultyDisk(), "log")
    assert (contents.values, contents.next_offset, contents.notices) == ([], 0, [])


def test_control_records_count_as_offsets_but_not_as_values() -> None:
    disk = disk_with(log_0=batch(0, b"leader", control=True) + batch(1, b"a", b"b", epoch=4))
    contents = read_metadata_log(disk, "log")
    assert (contents.values, contents.next_offset, contents.epoch) == ([b"a", b"b"], 3, 4)


def test_segments_follow_each_other() -> None:
    disk = disk_with(log_0=batch(0, b"a", b"b"), log_2=batch(2, b"c"))
    contents = read_metadata_log(disk, "log")
    assert contents.values == [b"a", b"b", b"c"]
    assert contents.active_base_offset == 2


def test_snapshot_stands_for_everything_before_its_end() -> None:
    disk = disk_with(
        snapshot_2=bytes(build_checkpoint([b"ab"], 1, 1)),
        log_0=batch(0, b"a") + batch(1, b"b") + batch(2, b"c"),
    )
    contents = read_metadata_log(disk, "log")
    assert (contents.values, contents.next_offset) == ([b"ab", b"c"], 3)


def test_snapshot_without_log_is_enough() -> None:
    contents = read_metadata_log(disk_with(snapshot_9=bytes(build_checkpoint([b"s"], 1, 1))), "log")
    assert (contents.values, contents.next_offset) == ([b"s"], 9)
    assert contents.active_base_offset == 9


def test_damaged_snapshot_gives_way_to_an_older_one() -> None:
    good, bad = bytes(build_checkpoint([b"s"], 1, 1)), bytes(build_checkpoint([b"t"], 1, 1))[:-3]
    disk = disk_with(snapshot_1=good, snapshot_2=bad, log_0=batch(0, b"a") + batch(1, b"b"))
    contents = read_metadata_log(disk, "log")
    assert contents.values == [b"s", b"b"]
    assert "an older one is used" in contents.notices[0]


def test_missing_offsets_are_damage() -> None:
    with pytest.raises(DamagedLog, match="lacks the offsets 0 to 4"):
        read_metadata_log(disk_with(log_5=batch(5, b"a")), "log")


def test_damage_before_the_last_file_is_not_mended() -> None:
    disk = disk_with(log_0=batch(0, b"a")[:-1], log_1=batch(1, b"b"))
    with pytest.raises(DamagedLog, match="more files follow"):
        read_metadata_log(disk, "log")


def test_torn_end_is_cut_off_kept_and_said() -> None:
    whole, torn = batch(0, b"a"), batch(1, b"b" * 50)
    for length in range(1, len(torn)):
        disk = disk_with(log_0=whole + torn[:length])
        contents = read_metadata_log(disk, "log")
        assert contents.values == [b"a"]
        assert disk.read_file(SEGMENT) == whole
        assert disk.read_file(f"{SEGMENT}.cut") == torn[:length]
        assert f"{length} bytes at its end were cut off" in contents.notices[0]


def test_flipped_bit_never_gives_a_wrong_value() -> None:
    data = batch(0, b"a") + batch(1, b"b") + batch(2, b"c")
    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 0x40
        values = read_metadata_log(disk_with(log_0=bytes(damaged)), "log").values
        assert values == [b"a", b"b", b"c"][: len(values)]
