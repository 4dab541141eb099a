"""A bounded number of descriptors."""

from __future__ import annotations

import pytest

from headrace.model.errors import DamagedLog, StorageFailure
from headrace.storage.open_files import OpenFiles
from headrace.testing.faulty_disk import FaultyDisk


@pytest.fixture
def files() -> OpenFiles:
    disk = FaultyDisk()
    for number in range(10):
        disk.replace_file(f"f{number}", b"%d" % number)
    return OpenFiles(disk, limit=3)


def test_limit_holds_and_every_file_can_be_read(files):
    handles = [files.handle(f"f{number}") for number in range(10)]
    for _ in range(3):
        for number, handle in enumerate(handles):
            assert handle.open().read_at(0, 1) == b"%d" % number
            assert files.open_count <= 3


def test_used_file_stays_open_longer(files):
    first, *others = [files.handle(f"f{number}") for number in range(6)]
    first.open()
    for handle in others:
        handle.open()
        handle.used = False
        first.used = True
    assert first.file is not None


def test_pinned_file_is_never_closed(files):
    pinned = files.handle("f0")
    pinned.pin()
    for number in range(1, 10):
        files.handle(f"f{number}").open()
    assert pinned.file is not None
    pinned.release()
    assert pinned.pins == 0


def test_limit_gives_way_to_pins(files):
    handles = [files.handle(f"f{number}") for number in range(5)]
    for handle in handles:
        handle.pin()
    assert files.open_count == 5


def test_retired_file_closes_with_its_last_pin(files):
    handle = files.handle("f0")
    handle.pin()
    handle.pin()
    handle.retire()
    assert handle.file is not None
    handle.release()
    handle.release()
    assert handle.file is None
    assert files.open_count == 0
    files.disk.remove("f0")
    with pytest.raises(StorageFailure, match="removed"):
        handle.open()


def test_missing_file_is_made_only_if_told(files):
    handle = files.handle("new")
    with pytest.raises(DamagedLog, match="new is missing"):
        handle.open()
    handle.creates = True
    handle.open()
    assert files.disk.exists("new")
    assert not handle.creates


def test_opening_and_closing_leaves_nothing_behind(files):
    handle = files.handle("f0")
    for _ in range(1000):
        handle.open()
        handle.close()
    assert files.open_count == 0
    assert len(files._ring) <= 2 * files.limit + 1


def test_close_all_closes_all(files):
    for number in range(3):
        files.handle(f"f{number}").pin()
    files.close_all()
    assert files.open_count == 0
