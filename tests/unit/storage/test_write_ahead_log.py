"""Frames, generations and torn ends of the write-ahead log."""

from __future__ import annotations

import pytest

from headrace.model.errors import DiskFull
from headrace.model.topic import TopicPartition
from headrace.storage.write_ahead_log import (
    FILE_NAMES,
    FrameEntry,
    WriteAheadLog,
    entry_head,
    read_frames,
)
from headrace.testing.faulty_disk import FaultyDisk
from headrace.testing.simulated_background import SimulatedBackground
from headrace.testing.simulated_clock import SimulatedClock

FIRST, SECOND = (f"wal/{name}" for name in FILE_NAMES)


class Bench:
    """A write-ahead log whose files are released by hand."""

    def __init__(self, size: int = 100_000) -> None:
        self.disk = FaultyDisk()
        self.disk.make_directory("wal")
        self.background = SimulatedBackground(SimulatedClock())
        self.to_release: list[tuple[int, int]] = []
        self.released_now: list[int] = []
        self.wal = WriteAheadLog(
            "wal",
            self.disk,
            self.background,
            size,
            lambda number, generation: self.to_release.append((number, generation)),
            self.released_now.append,
        )

    def append(self, *values: bytes) -> int:
        entries = [
            (entry_head(TopicPartition("t", n), bytes(16)), 10 + n, value)
            for n, value in enumerate(values)
        ]
        return self.wal.append(entries)

    def found(self) -> list[list[bytes]]:
        frames, _ = read_frames(self.disk, "wal")
        return [[bytes(entry.batch) for entry in frame.entries] for frame in frames]


def test_frames_come_back_in_order():
    bench = Bench()
    assert bench.append(b"a", b"b") == 1
    assert bench.append(b"c") == 2
    frames, generation = read_frames(bench.disk, "wal")
    first, second = list(frames)
    assert generation == 1
    assert (first.commit_number, second.commit_number) == (1, 2)
    assert first.entries[1] == FrameEntry(TopicPartition("t", 1), bytes(16), 11, b"b")


def test_no_file_is_made_before_it_is_needed():
    bench = Bench()
    assert bench.disk.list("wal") == []
    assert bench.found() == []


@pytest.mark.parametrize("place", [0, 5, 9, 20, 24, 30, 60])
def test_damaged_frame_ends_the_reading(place):
    bench = Bench()
    bench.append(b"a" * 40)
    end_of_first = bench.wal._position
    bench.append(b"b" * 40)
    bench.disk.rot(FIRST, end_of_first + place)
    assert bench.found() == [[b"a" * 40]]


def test_damaged_head_hides_the_whole_file():
    bench = Bench()
    bench.append(b"a")
    bench.disk.rot(FIRST, 9)
    assert bench.found() == []


def test_files_take_turns_and_old_frames_are_not_taken_for_new():
    bench = Bench(size=1000)
    for number in range(40):
        bench.append(b"%02d" % number * 30)
        for released in bench.to_release:
            bench.wal.released(*released)
        bench.to_release.clear()
    found = [frame[0][:2] for frame in bench.found()]
    assert found == [b"%02d" % number for number in range(40 - len(found), 40)]
    assert bench.released_now == []
    assert bench.disk.size(FIRST) <= 500
    assert bench.disk.size(SECOND) <= 500


def test_full_file_that_is_not_released_is_released_at_once():
    bench = Bench(size=1000)
    for number in range(40):
        bench.append(b"%02d" % number * 30)
    assert len(bench.released_now) > 3


def test_late_release_of_an_old_generation_counts_for_nothing():
    bench = Bench(size=1000)
    while len(bench.to_release) < 3:
        bench.append(b"x" * 60)
    before = len(bench.released_now)
    bench.wal.released(*bench.to_release[0])
    while len(bench.to_release) < 4:
        bench.append(b"x" * 60)
    assert len(bench.released_now) == before + 1


def test_undone_frame_is_not_read():
    bench = Bench()
    bench.append(b"a")
    bench.append(b"b")
    bench.wal.undo_last()
    assert bench.found() == [[b"a"]]
    assert bench.append(b"c") == 2
    assert bench.found() == [[b"a"], [b"c"]]


def test_full_disk_leaves_no_frame():
    bench = Bench()
    bench.append(b"a")
    bench.disk.capacity_bytes = bench.disk.size(FIRST)
    bench.wal._reserved = [0, 0]
    with pytest.raises(DiskFull):
        bench.append(b"b" * 200_000)
    bench.disk.capacity_bytes = None
    bench.append(b"c")
    assert bench.found() == [[b"a"], [b"c"]]


def test_restart_forgets_all_frames():
    bench = Bench()
    bench.append(b"a")
    bench.wal.restart()
    assert bench.found() == []
    bench.append(b"b")
    assert bench.found() == [[b"b"]]


def test_waiters_are_called_in_order_once_they_are_safe():
    bench = Bench()
    called: list[tuple[int, object]] = []
    for number in (1, 2, 3):
        bench.append(b"x")
        bench.wal.when_synced(number, lambda error, n=number: called.append((n, error)))
        bench.wal.request_sync()
    assert called == []
    bench.background.run_one()
    assert called == [(1, None)]
    bench.background.run_one()
    assert called == [(1, None), (2, None), (3, None)]
    assert bench.background.pending == 0


def test_oversized_append_still_fits():
    bench = Bench(size=1000)
    bench.append(b"a")
    bench.append(b"x" * 5000)
    assert bench.found()[-1] == [b"x" * 5000]
