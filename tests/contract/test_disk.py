"""One suite for all disks: what code above the Disk port may rely on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.environment.real_disk import BUFFERS_PER_CALL_MAX, RealDisk
from headrace.model.errors import StorageFailure
from headrace.testing.faulty_disk import FaultyDisk

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from headrace.environment.ports import Disk


@pytest.fixture(params=["real", "faulty"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Disk, str]:
    """A disk, and an empty directory on it."""
    if request.param == "real":
        return RealDisk(), str(tmp_path)
    disk = FaultyDisk()
    disk.make_directory("/data")
    return disk, "/data"


def test_written_bytes_are_read_back_at_their_positions(place: tuple[Disk, str]) -> None:
    disk, root = place
    file = disk.open(f"{root}/a", create=True)
    file.write_at(0, b"hello")
    file.write_at(3, memoryview(b"p!"))
    file.write_at(8, bytearray(b"z"))
    assert file.read_at(0, 100) == b"help!\0\0\0z"
    assert file.read_at(3, 2) == b"p!"
    assert file.read_at(100, 5) == b""
    assert file.size() == disk.size(f"{root}/a") == 9
    assert file.path == f"{root}/a"
    file.close()


def test_many_buffers_are_written_one_after_the_other(place: tuple[Disk, str]) -> None:
    disk, root = place
    file = disk.open(f"{root}/a", create=True)
    buffers = [b"%05d" % index for index in range(2 * BUFFERS_PER_CALL_MAX + 3)]
    file.write_all_at(7, buffers)
    file.write_all_at(0, [b"head", memoryview(b"er"), bytearray(b"!")])
    file.write_all_at(0, [])
    assert file.read_at(0, 1 << 20) == b"header!" + b"".join(buffers)
    file.close()


def test_truncate_cuts_and_extends_with_zeros(place: tuple[Disk, str]) -> None:
    disk, root = place
    file = disk.open(f"{root}/a", create=True)
    file.write_at(0, b"abcdef")
    file.truncate(3)
    file.truncate(5)
    assert file.read_at(0, 10) == b"abc\0\0"
    file.close()


def test_allocate_extends_and_never_shortens(place: tuple[Disk, str]) -> None:
    disk, root = place
    file = disk.open(f"{root}/a", create=True)
    file.write_at(0, b"abc")
    file.allocate(6)
    file.allocate(2)
    assert file.read_at(0, 10) == b"abc\0\0\0"
    file.close()


def test_open_needs_the_file_unless_it_may_create_it(place: tuple[Disk, str]) -> None:
    disk, root = place
    with pytest.raises(FileNotFoundError):
        disk.open(f"{root}/a")
    disk.open(f"{root}/a", create=True).close()
    again = disk.open(f"{root}/a", create=True)
    assert again.size() == 0
    again.close()


@pytest.mark.parametrize(
    "use",
    [
        lambda disk, path: disk.size(path),
        lambda disk, path: disk.modified_ms(path),
        lambda disk, path: disk.list(path),
        lambda disk, path: disk.remove(path),
        lambda disk, path: disk.read_file(path),
        lambda disk, path: disk.rename(path, path + "2"),
        lambda disk, path: disk.sync_directory(path),
        lambda disk, path: disk.open(path + "/below", create=True),
    ],
)
def test_what_is_not_there_is_file_not_found(
    place: tuple[Disk, str], use: Callable[[Disk, str], object]
) -> None:
    disk, root = place
    with pytest.raises(FileNotFoundError):
        use(disk, f"{root}/missing")


@pytest.mark.parametrize(
    "use",
    [
        lambda disk, path: disk.open(path),
        lambda disk, path: disk.read_file(path),
        lambda disk, path: disk.remove(path),
        lambda disk, path: disk.make_directory(path + "/file/below"),
        lambda disk, path: disk.list(path + "/file"),
    ],
)
def test_misuse_is_a_storage_failure_that_names_the_path(
    place: tuple[Disk, str], use: Callable[[Disk, str], object]
) -> None:
    disk, root = place
    disk.make_directory(f"{root}/dir")
    disk.open(f"{root}/dir/file", create=True).close()
    with pytest.raises(StorageFailure, match=f"{root}/dir"):
        use(disk, f"{root}/dir")


def test_a_closed_file_is_a_storage_failure_and_closes_twice(place: tuple[Disk, str]) -> None:
    disk, root = place
    file = disk.open(f"{root}/a", create=True)
    file.close()
    file.close()
    for use in (lambda: file.write_at(0, b"x"), lambda: file.read_at(0, 1), file.sync):
        with pytest.raises(StorageFailure, match=f"{root}/a"):
            use()


def test_directories_are_made_with_parents_listed_and_removed(place: tuple[Disk, str]) -> None:
    disk, root = place
    disk.make_directory(f"{root}/x/y")
    disk.make_directory(f"{root}/x/y")
    for name in ("b", "a", "c"):
        disk.open(f"{root}/x/{name}", create=True).close()
    assert disk.list(f"{root}/x") == ["a", "b", "c", "y"]
    assert disk.is_directory(f"{root}/x/y")
    assert not disk.is_directory(f"{root}/x/a")
    assert not disk.is_directory(f"{root}/nothing")
    disk.remove_tree(f"{root}/x")
    disk.remove_tree(f"{root}/x")
    assert not disk.exists(f"{root}/x")


def test_rename_replaces_and_open_files_stay_usable(place: tuple[Disk, str]) -> None:
    disk, root = place
    old, new = disk.open(f"{root}/old", create=True), disk.open(f"{root}/new", create=True)
    old.write_at(0, b"old")
    new.write_at(0, b"new")
    disk.rename(f"{root}/new", f"{root}/old")
    assert disk.read_file(f"{root}/old") == b"new"
    assert not disk.exists(f"{root}/new")
    assert old.read_at(0, 3) == b"old"
    disk.remove(f"{root}/old")
    assert new.read_at(0, 3) == b"new"
    old.close()
    new.close()


def test_rename_moves_a_directory_with_its_content(place: tuple[Disk, str]) -> None:
    disk, root = place
    disk.make_directory(f"{root}/one")
    disk.replace_file(f"{root}/one/file", b"content")
    disk.rename(f"{root}/one", f"{root}/two")
    assert disk.read_file(f"{root}/two/file") == b"content"
    assert not disk.exists(f"{root}/one")


@pytest.mark.parametrize("sync", [True, False])
def test_replace_file_leaves_the_new_content_and_nothing_else(
    place: tuple[Disk, str], sync: bool
) -> None:
    disk, root = place
    disk.replace_file(f"{root}/a", b"a long first content", sync=sync)
    disk.replace_file(f"{root}/a", memoryview(b"second"), sync=sync)
    assert disk.read_file(f"{root}/a") == b"second"
    assert disk.list(root) == ["a"]


def test_syncs_succeed_and_space_is_told(place: tuple[Disk, str]) -> None:
    disk, root = place
    file = disk.open(f"{root}/a", create=True)
    file.write_at(0, b"x")
    file.sync()
    disk.sync_directory(root)
    assert 0 < disk.free_bytes(root) <= disk.total_bytes(root)
    assert disk.modified_ms(f"{root}/a") >= 0
    assert file.fileno() >= -1
    file.close()
