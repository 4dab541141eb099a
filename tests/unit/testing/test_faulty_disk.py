"""Faults happen when told, and the same seed gives the same disaster."""

from __future__ import annotations

import pytest

from headrace.model.errors import DiskFull, StorageFailure
from headrace.testing.faulty_disk import FaultyDisk, SimulatedCrash, crash_everywhere
from headrace.testing.simulated_clock import SimulatedClock


def disk_with_file(seed: int = 0, **options: int) -> FaultyDisk:
    disk = FaultyDisk(seed, **options)  # type: ignore[arg-type]
    disk.make_directory("/d")
    file = disk.open("/d/f", create=True)
    file.write_at(0, b"synced")
    file.sync()
    disk.sync_directory("/d")
    disk.sync_directory("/")
    return disk


def test_kill_keeps_the_page_cache_and_closes_files() -> None:
    disk = disk_with_file()
    file = disk.open("/d/f")
    file.write_at(6, b" cached")
    disk.kill()
    assert disk.read_file("/d/f") == b"synced cached"
    with pytest.raises(StorageFailure, match="not open"):
        file.read_at(0, 1)


def test_crash_keeps_what_was_synced_and_may_lose_the_rest() -> None:
    left = set()
    for seed in range(40):
        disk = disk_with_file(seed)
        disk.open("/d/f").write_at(6, b" maybe")
        disk.open("/d/g", create=True)
        disk.crash()
        left.add((disk.read_file("/d/f")[:12], disk.exists("/d/g")))
        assert disk.read_file("/d/f").startswith(b"synced")
    assert (b"synced", False) in left
    assert (b"synced maybe", True) in left


def test_unsynced_directories_go_with_all_they_hold() -> None:
    lost = 0
    for seed in range(20):
        disk = FaultyDisk(seed, entries_in_order=False)
        disk.make_directory("/a/b")
        disk.replace_file("/a/b/c", b"x")
        disk.crash()
        lost += not disk.exists("/a/b/c")
    assert lost > 0


def test_the_same_seed_gives_the_same_disaster() -> None:
    def run(seed: int) -> tuple[bytes, list[str]]:
        disk = disk_with_file(seed, unit_bytes=512)
        disk.open("/d/f").write_at(0, b"y" * 20_000)
        disk.crash()
        return disk.read_file("/d/f"), disk.history

    assert run(7) == run(7)
    assert len({run(seed)[0] for seed in range(10)}) > 5


def test_the_numbered_operation_fails_and_only_that() -> None:
    disk = disk_with_file()
    file = disk.open("/d/f")
    disk.fail_at(1)
    file.write_at(0, b"1")
    with pytest.raises(StorageFailure, match="simulated"):
        file.write_at(0, b"2")
    file.write_at(0, b"3")
    assert file.read_at(0, 1) == b"3"


def test_the_next_operation_of_a_kind_fails() -> None:
    disk = disk_with_file()
    disk.fail_next("read", StorageFailure("bad sector"))
    disk.fail_next("rename")
    with pytest.raises(StorageFailure, match="bad sector"):
        disk.read_file("/d/f")
    with pytest.raises(StorageFailure, match="rename"):
        disk.rename("/d/f", "/d/g")
    assert disk.read_file("/d/f") == b"synced"


def test_bytes_of_a_failed_sync_do_not_reach_the_medium_by_a_second_one() -> None:
    disk = disk_with_file()
    file = disk.open("/d/f")
    file.write_at(0, b"SYNCED")
    disk.fail_next("sync")
    with pytest.raises(StorageFailure):
        file.sync()
    file.sync()
    assert file.read_at(0, 6) == b"SYNCED"
    disk.crash()
    assert disk.read_file("/d/f") == b"synced"


def test_a_full_disk_takes_what_fits_and_refuses_the_rest() -> None:
    disk = disk_with_file(capacity_bytes=10)
    file = disk.open("/d/f")
    assert disk.free_bytes("/d") == 4
    with pytest.raises(DiskFull, match="/d/f"):
        file.write_at(6, b"123456")
    assert file.read_at(0, 100) == b"synced1234"
    file.write_at(0, b"SYNCED")
    with pytest.raises(DiskFull):
        file.allocate(11)
    disk.remove("/d/f")
    assert disk.free_bytes("/d") == 10


def test_rot_flips_bits_for_good() -> None:
    disk = disk_with_file()
    disk.rot("/d/f", 0, 0x20)
    assert disk.read_file("/d/f") == b"Synced"
    disk.crash()
    assert disk.read_file("/d/f") == b"Synced"


def test_nothing_works_between_the_crash_and_the_restart() -> None:
    disk = disk_with_file()
    file = disk.open("/d/f")
    disk.crash_at(0)
    with pytest.raises(SimulatedCrash):
        file.write_at(0, b"x")
    for use in (lambda: disk.exists("/d"), lambda: file.size(), lambda: disk.list("/d")):
        with pytest.raises(SimulatedCrash):
            use()
    disk.kill()
    assert disk.list("/d") == ["f"]


def test_files_carry_the_time_of_their_last_change() -> None:
    clock = SimulatedClock(1000)
    disk = FaultyDisk(clock=clock)
    file = disk.open("/f", create=True)
    clock.advance(5)
    file.write_at(0, b"x")
    assert disk.modified_ms("/f") == 6000


@pytest.mark.parametrize("power_loss", [True, False])
def test_replace_file_is_atomic_at_every_crash_point(power_loss: bool) -> None:
    seen: set[bytes] = set()

    def work(disk: FaultyDisk) -> None:
        disk.replace_file("/f", b"old")
        disk.replace_file("/f", b"new")

    def check(disk: FaultyDisk) -> None:
        seen.add(disk.read_file("/f") if disk.exists("/f") else b"")

    for seed in range(10):
        points = crash_everywhere(
            work,
            check,
            make_disk=lambda point, seed=seed: FaultyDisk(1000 * seed + point),  # type: ignore[misc]
            power_loss=power_loss,
        )
    assert points == 12
    assert seen == {b"", b"old", b"new"}


def test_a_failed_check_names_its_crash_point() -> None:
    def check(disk: FaultyDisk) -> None:
        raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong") as caught:
        crash_everywhere(lambda disk: disk.replace_file("/f", b"x"), check)
    assert caught.value.__notes__ == ["crash point 0: 0 create /f.tmp"]
