"""Frames of batches, sound and damaged."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest

from headrace.pipeline.batch_runs import Run, RunReader
from headrace.pipeline.errors import StorageUnreachable
from headrace.records.columns import BadBatch
from headrace.records.header import LENGTH_POSITION, MAGIC_POSITION
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
    found = [run for run in runs(directory, 0, 30, 250) if isinstance(run, Run)]
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


def test_damage_without_an_index_takes_the_rest(directory: LogDirectory):
    (directory.partition / "00000000000000000000.index").unlink()
    damage(directory, positions(directory)[4] + LENGTH_POSITION, struct.pack(">i", 5))
    run, bad = runs(directory, 0, 30)
    assert isinstance(run, Run)
    assert run.next_offset == 12
    assert isinstance(bad, BadBatch)
    assert (bad.base_offset, bad.last_offset) == (12, 29)


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
