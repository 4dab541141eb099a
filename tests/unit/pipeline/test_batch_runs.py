"""Frames of batches, sound and damaged."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest

from headrace.pipeline.batch_runs import Run, RunReader
from headrace.pipeline.errors import StorageUnreachable
from headrace.pipeline.segments import OffsetEntries, OpenSegment
from headrace.pipeline.storage_location import FileVanished
from headrace.records.build import build_batch
from headrace.records.columns import BadBatch
from headrace.records.header import HEADER_SIZE, LENGTH_POSITION, MAGIC_POSITION
from headrace.storage.offset_index import ENTRY
from tests.unit.pipeline.log_directory import LogDirectory

if TYPE_CHECKING:
    from pathlib import Path

BIG = 2**20


@pytest.fixture
def directory(tmp_path: Path) -> LogDirectory:
    """One segment of ten batches of three records."""
    directory = LogDirectory(tmp_path, index_interval_bytes=200)
    directory.fill(10)
    directory.write_indexes()
    return directory


def runs(
    directory: LogDirectory, start: int, end: int, size_bytes: int = BIG
) -> list[Run | BadBatch]:
    opened = directory.stored().open_at(start, end, is_committed=False)
    reader = RunReader(opened, start, end)
    found = []
    while (run := reader.next_run(size_bytes)) is not None:
        found.append(run)
    opened.file.close()
    return found


def positions(directory: LogDirectory) -> list[int]:
    """Where each batch begins."""
    data = (directory.partition / "00000000000000000000.log").read_bytes()
    found, position = [], 0
    while position < len(data):
        found.append(position)
        position += struct.unpack_from(">i", data, position + LENGTH_POSITION)[0] + 12
    return found


def damage(directory: LogDirectory, position: int, data: bytes) -> None:
    with (directory.partition / "00000000000000000000.log").open("r+b") as file:
        file.seek(position)
        file.write(data)


def test_run_covers_the_range_in_one_piece(directory: LogDirectory):
    (run,) = runs(directory, 0, 30)
    assert isinstance(run, Run)
    assert (run.start, run.next_offset) == (0, 30)


def test_runs_end_with_whole_batches(directory: LogDirectory):
    at = positions(directory)
    found = [run for run in runs(directory, 0, 30, 300) if isinstance(run, Run)]
    assert [run.next_offset for run in found] == [6, 12, 18, 24, 30]
    assert [len(run.data) for run in found[:-1]] == [at[n + 2] - at[n] for n in (0, 2, 4, 6)]


def test_batch_larger_than_a_run_comes_alone(directory: LogDirectory):
    found = runs(directory, 0, 30, 100)
    assert len(found) == 10


def test_batch_behind_the_range_is_left_alone(directory: LogDirectory):
    damage(directory, positions(directory)[5], b"\xff" * 100)
    (run,) = runs(directory, 4, 14)
    assert isinstance(run, Run)
    assert run.next_offset == 14


def test_damage_is_passed_by_the_index(directory: LogDirectory):
    at = positions(directory)
    damage(directory, at[4] + MAGIC_POSITION, b"\x07")
    found = runs(directory, 0, 30)
    (bad,) = [run for run in found if isinstance(run, BadBatch)]
    assert bad.base_offset == 12
    assert bad.last_offset in (14, 17, 20)
    assert bad.reason == "there is no batch where one should begin"
    assert bad.data[MAGIC_POSITION] == 7
    assert found[-1].next_offset == 30  # type: ignore[union-attr]


@pytest.mark.parametrize("length", [5, 10**6, 2**31 - 1])
def test_damage_without_an_index_is_passed_by_the_next_right_checksum(
    directory: LogDirectory, length: int
):
    (directory.partition / "00000000000000000000.index").unlink()
    damage(directory, positions(directory)[4] + LENGTH_POSITION, struct.pack(">i", length))
    run, bad, rest = runs(directory, 0, 30)
    assert isinstance(run, Run)
    assert run.next_offset == 12
    assert isinstance(bad, BadBatch)
    assert (bad.base_offset, bad.last_offset) == (12, 14)
    assert isinstance(rest, Run)
    assert (rest.start, rest.next_offset) == (15, 30)


def test_batch_that_is_the_value_of_a_damaged_one_is_not_taken_for_the_next(tmp_path: Path):
    directory = LogDirectory(tmp_path)
    directory.fill(2)
    inner = bytes(build_batch([(b"k", b"forged")], base_offset=8))
    directory.append(inner, inner, b"end")
    directory.fill(2)
    damage(directory, positions(directory)[2] + MAGIC_POSITION, b"\x07")
    _, bad, rest = runs(directory, 0, directory.log.high_watermark)
    assert isinstance(bad, BadBatch)
    assert (bad.base_offset, bad.last_offset) == (6, 8)
    assert isinstance(rest, Run)
    assert (rest.start, rest.next_offset) == (9, 15)


def test_damage_that_nothing_sound_follows_takes_the_rest(directory: LogDirectory):
    (directory.partition / "00000000000000000000.index").unlink()
    for position in positions(directory)[4:]:
        damage(directory, position + MAGIC_POSITION, b"\x07")
    run, bad = runs(directory, 0, 30)
    assert isinstance(run, Run)
    assert isinstance(bad, BadBatch)
    assert (bad.base_offset, bad.last_offset) == (12, 29)


def test_damage_before_the_range_costs_nothing_of_it(directory: LogDirectory):
    at = positions(directory)
    (directory.partition / "00000000000000000000.index").write_bytes(
        ENTRY.pack(5, at[1]) + ENTRY.pack(17, at[5])
    )
    damage(directory, at[3] + MAGIC_POSITION, b"\x07")
    found = runs(directory, 16, 30)
    assert all(isinstance(run, Run) for run in found)
    assert found[-1].next_offset == 30  # type: ignore[union-attr]


def test_zeros_at_the_end_are_not_records(directory: LogDirectory):
    at = positions(directory)
    damage(directory, at[8], bytes(BIG))
    (run,) = runs(directory, 0, 30)
    assert isinstance(run, Run)
    assert run.next_offset == 24


def test_offset_that_claims_too_much_hides_nothing(directory: LogDirectory):
    at = positions(directory)
    damage(directory, at[3], struct.pack(">q", 10**9))
    damage(directory, at[5] + 23, struct.pack(">i", 10**6))
    found = runs(directory, 0, 30)
    size = (directory.partition / "00000000000000000000.log").stat().st_size
    assert sum(len(run.data) for run in found if isinstance(run, Run)) == size
    assert len(at) == 10


def test_hole_in_the_last_segment_is_not_believed(directory: LogDirectory):
    at = positions(directory)
    damage(directory, at[9], struct.pack(">q", 10**9))
    with pytest.raises(StorageUnreachable, match="offsets 27 to 29 are not where"):
        runs(directory, 0, 30)


def test_closed_segment_that_ends_within_a_batch_is_told(tmp_path: Path):
    directory = LogDirectory(tmp_path, internal_segment_bytes=400)
    directory.fill(9)
    next_base = directory.bases[1]
    path = directory.partition / "00000000000000000000.log"
    path.write_bytes(path.read_bytes()[:-7])
    *_, bad = runs(directory, 0, 27)
    assert isinstance(bad, BadBatch)
    assert bad.reason == "the segment ends within a batch"
    assert (bad.base_offset, bad.last_offset) == (next_base - 3, next_base - 1)


class ReplacedFile:
    """An object of an object store: from the second look on it has other content."""

    read_ahead_to = 0

    def __init__(self, old: bytes, new: bytes) -> None:
        self.size_bytes = len(old)
        self.identity = ""
        self._versions = {"old": old, "new": new}

    def window(self, position: int, size_bytes: int) -> memoryview:
        self.identity = "old" if self.identity == "" else "new"
        return memoryview(self._versions[self.identity])[position : position + size_bytes]

    def close(self) -> None: ...


def batch_at(offset: int) -> bytes:
    """All of one size, as those of many topics are."""
    return bytes(build_batch([(b"k", b"v")], base_offset=offset, timestamp_ms=1))


def reader_of(old: list[int], new: list[int]) -> RunReader:
    file = ReplacedFile(b"".join(map(batch_at, old)), b"".join(map(batch_at, new)))
    segment = OpenSegment(0, 100, file, OffsetEntries(b"", 0), ())
    return RunReader(segment, 0, 100)


@pytest.mark.parametrize(
    "new", [[1, 3, 5, 7, 9, 11], [0, 1, 4, 5, 6, 7, 8]], ids=["denser", "denser behind"]
)
def test_batches_of_a_compacted_version_are_not_passed_over(new: list[int]):
    size_bytes = 2 * len(batch_at(0)) + HEADER_SIZE
    reader = reader_of([*range(12)], new)
    run = reader.next_run(size_bytes)
    assert isinstance(run, Run)
    assert (len(run.data), run.next_offset) == (2 * len(batch_at(0)), 2)
    with pytest.raises(FileVanished, match="was replaced"):
        reader.next_run(size_bytes)


@pytest.mark.parametrize("new", [[*range(20)], [0, 0, 1, 2, 3]], ids=["grown", "begins before"])
def test_version_that_hides_nothing_is_read_on(new: list[int]):
    size_bytes = 2 * len(batch_at(0)) + HEADER_SIZE
    reader = reader_of([0, 1, 2, 3, 4], new)
    assert isinstance(reader.next_run(size_bytes), Run)
    run = reader.next_run(size_bytes)
    assert isinstance(run, Run)
    assert run.start == 2
