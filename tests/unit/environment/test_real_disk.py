"""What only the real disk does: errors of the system become ours, short writes go on."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from headrace.environment.real_disk import RealDisk, storage_failure
from headrace.model.errors import DiskFull, StorageFailure

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_named_so_with_path_and_reason(number: int) -> None:
    failure = storage_failure(OSError(number, os.strerror(number)), "/x/y", "write to")
    assert isinstance(failure, DiskFull)
    assert "/x/y" in failure.message
    assert errno.errorcode[number] in failure.message


def test_other_errors_are_plain_storage_failures() -> None:
    failure = storage_failure(OSError(errno.EIO, "Input/output error"), "/x", "read")
    assert type(failure) is StorageFailure
    assert failure.message == "cannot read /x: Input/output error (EIO)"


def test_writing_to_a_full_device_is_disk_full() -> None:
    file = RealDisk().open("/dev/full")
    try:
        with pytest.raises(DiskFull, match="/dev/full"):
            file.write_at(0, b"x")
        with pytest.raises(DiskFull, match="ENOSPC"):
            file.write_all_at(0, [b"x", b"y"])
    finally:
        file.close()


def test_short_writes_and_reads_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pwrite, pwritev, pread = os.pwrite, os.pwritev, os.pread
    monkeypatch.setattr(os, "pwrite", lambda fd, data, at: pwrite(fd, bytes(data)[:3], at))
    monkeypatch.setattr(os, "pwritev", lambda fd, group, at: pwritev(fd, group[:1], at))
    monkeypatch.setattr(os, "pread", lambda fd, size, at: pread(fd, min(size, 2), at))
    file = RealDisk().open(str(tmp_path / "a"), create=True)
    file.write_at(0, b"0123456789")
    file.write_all_at(10, [b"abc", b"defgh", b"i"])
    assert file.read_at(0, 100) == b"0123456789abcdefghi"
    file.close()


def test_descriptor_is_real_and_not_inherited(tmp_path: Path) -> None:
    file = RealDisk().open(str(tmp_path / "a"), create=True)
    assert os.fstat(file.fileno()).st_size == 0
    assert not os.get_inheritable(file.fileno())
    file.close()
    assert file.fileno() == -1


def test_files_that_may_not_be_written_open_for_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_bytes(b"read me")
    real_open = os.open

    def refuse_writing(path: str, flags: int, mode: int = 0o777) -> int:
        if flags & os.O_RDWR:
            raise PermissionError(errno.EACCES, "Permission denied")
        return real_open(path, flags, mode)

    monkeypatch.setattr(os, "open", refuse_writing)
    file = RealDisk().open(str(tmp_path / "a"))
    assert file.read_at(0, 10) == b"read me"
    with pytest.raises(StorageFailure, match="EBADF"):
        file.write_at(0, b"x")
    file.close()
    with pytest.raises(StorageFailure, match="EACCES"):
        RealDisk().open(str(tmp_path / "b"), create=True)
