"""The metadata log: one change, one batch; shared syncs; snapshots; faults of the disk."""

from __future__ import annotations

import pytest

from headrace.model.errors import DiskFull, StorageFailure
from headrace.records.header import batches
from headrace.storage.metadata_log import MetadataLog
from headrace.testing.faulty_disk import FaultyDisk
from headrace.testing.simulated_background import SimulatedBackground
from headrace.testing.simulated_clock import SimulatedClock

FIRST = "data/__cluster_metadata-0/00000000000000000000.log"


class Bench:
    """A log whose snapshot is everything that was appended to it."""

    def __init__(self, size_bytes_max: int = 1_000_000) -> None:
        self.disk = FaultyDisk()
        self.size_bytes_max = size_bytes_max
        self.start()

    def start(self) -> None:
        clock = SimulatedClock()
        self.background = SimulatedBackground(clock)
        self.log = MetadataLog(
            "data", self.disk, clock, self.background, self.snapshot, self.size_bytes_max
        )
        self.contents = self.log.open()
        self.values = list(self.contents.values)

    def snapshot(self) -> list[bytes]:
        return self.values

    def append(self, *values: bytes) -> list[BaseException | None]:
        outcomes: list[BaseException | None] = []
        self.log.append(values)
        self.values += values
        self.log.work_on()
        self.log.when_durable(outcomes.append)
        return outcomes

    def restart(self) -> None:
        self.disk.kill()
        self.start()


def test_values_are_there_after_a_restart() -> None:
    bench = Bench()
    bench.append(b"a", b"b")
    bench.append(b"c")
    bench.restart()
    assert bench.contents.values == [b"a", b"b", b"c"]
    assert bench.log.next_offset == 3
    bench.append(b"d")
    bench.restart()
    assert bench.contents.values == [b"a", b"b", b"c", b"d"]


def test_one_change_is_one_batch() -> None:
    bench = Bench()
    bench.append(*(b"v" for _ in range(100)))
    bench.append(b"w")
    found = [header.record_count for _, header in batches(bench.disk.read_file(FIRST))]
    assert found == [100, 1]


def test_answer_waits_for_the_sync() -> None:
    bench = Bench()
    outcomes = bench.append(b"a")
    assert outcomes == []
    bench.background.run_one()
    assert outcomes == [None]
    late: list[BaseException | None] = []
    bench.log.when_durable(late.append)
    assert late == [None]


def test_changes_during_a_sync_share_the_next_one() -> None:
    bench = Bench()
    first, second, third = bench.append(b"a"), bench.append(b"b"), bench.append(b"c")
    bench.background.run_one()
    assert (first, second, third) == ([None], [], [])
    bench.background.run_one()
    assert (second, third) == ([None], [None])
    assert bench.background.pending == 0


def test_who_asks_during_a_sync_that_covers_everything_is_told_with_it() -> None:
    bench = Bench()
    bench.append(b"a")
    outcomes: list[BaseException | None] = []
    bench.log.when_durable(outcomes.append)
    assert outcomes == []
    bench.background.run_all()
    assert outcomes == [None]


def test_what_was_answered_survives_a_loss_of_power() -> None:
    bench = Bench()
    bench.append(b"a")
    bench.background.run_all()
    bench.append(b"b")
    bench.disk.crash()
    bench.start()
    assert bench.contents.values in ([b"a"], [b"a", b"b"])


def test_failed_write_changes_nothing() -> None:
    bench = Bench()
    bench.append(b"a")
    bench.disk.fail_next("write", DiskFull("no space"))
    with pytest.raises(DiskFull):
        bench.append(b"lost")
    bench.append(b"b")
    bench.restart()
    assert bench.contents.values == [b"a", b"b"]


def test_after_a_failed_sync_nothing_more_is_written() -> None:
    bench = Bench()
    first = bench.append(b"a")
    second = bench.append(b"b")
    bench.disk.fail_next("sync")
    bench.background.run_all()
    assert [isinstance(error, StorageFailure) for error in (*first, *second)] == [True, True]
    with pytest.raises(StorageFailure, match="failed before"):
        bench.append(b"c")
    late: list[BaseException | None] = []
    bench.log.when_durable(late.append)
    assert isinstance(late[0], StorageFailure)


def test_log_that_has_grown_is_replaced_by_a_snapshot() -> None:
    bench = Bench(size_bytes_max=1_000)
    for number in range(100):
        bench.append(str(number).encode())
        bench.background.run_all()
    names = bench.disk.list("data/__cluster_metadata-0")
    assert sum(name.endswith(".checkpoint") for name in names) == 1
    assert sum(name.endswith(".log") for name in names) == 1
    bench.restart()
    assert bench.contents.values == [str(number).encode() for number in range(100)]
    assert bench.log.next_offset == 100


def test_changes_while_a_snapshot_is_written_are_behind_it() -> None:
    bench = Bench(size_bytes_max=100)
    bench.append(b"x" * 200)
    bench.background.run_one()
    outcomes = bench.append(b"during")
    bench.background.run_all()
    assert outcomes == [None]
    bench.restart()
    assert bench.contents.values == [b"x" * 200, b"during"]


def test_failed_snapshot_loses_nothing_and_is_tried_again_later() -> None:
    bench = Bench(size_bytes_max=100)
    bench.append(b"x" * 200)
    bench.background.run_one()
    bench.disk.fail_next("create", DiskFull("no space"))
    bench.background.run_all()
    assert not any(n.endswith(".checkpoint") for n in bench.disk.list("data/__cluster_metadata-0"))
    bench.append(b"y" * 200)
    bench.background.run_all()
    bench.restart()
    assert bench.contents.values == [b"x" * 200, b"y" * 200]
    assert any(n.endswith(".checkpoint") for n in bench.disk.list("data/__cluster_metadata-0"))


def test_close_makes_everything_durable() -> None:
    bench = Bench()
    bench.append(b"a")
    bench.log.close()
    bench.disk.crash()
    bench.start()
    assert bench.contents.values == [b"a"]
