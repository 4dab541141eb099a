"""A log that cannot fill the disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.pipeline.jobs.limited_log import (
    LINE_BYTES_MAX,
    LimitedLog,
    follow_lines,
    last_lines,
    older_part,
)

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_log_is_two_files_of_a_size(tmp_path: Path) -> None:
    path = tmp_path / "log"
    log = LimitedLog(path, size_max=100)
    for number in range(100):
        log.write_line(f"line {number:04d}".encode())
    log.close()
    assert path.stat().st_size <= 100
    assert older_part(path).stat().st_size <= 100
    assert last_lines(path, 3) == ["line 0097", "line 0098", "line 0099"]
    assert len(last_lines(path, 10_000)) <= 20


def test_log_goes_on_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "log"
    for number in range(3):
        log = LimitedLog(path, size_max=20)
        log.write_line(b"12345678\r\n")
        log.close()
        assert older_part(path).exists() == (number == 2)


def test_line_without_an_end_is_cut(tmp_path: Path) -> None:
    log = LimitedLog(tmp_path / "log")
    log.write_line(b"x" * (LINE_BYTES_MAX + 5))
    log.close()
    assert len(last_lines(tmp_path / "log", 1)[0]) == LINE_BYTES_MAX


def test_log_that_is_not_there_has_no_lines(tmp_path: Path) -> None:
    assert last_lines(tmp_path / "log", 5) == []
    assert list(follow_lines(tmp_path / "log", lambda: False)) == []


def test_lines_are_followed_over_a_change_of_files(tmp_path: Path) -> None:
    path = tmp_path / "log"
    log = LimitedLog(path, size_max=30)
    log.write_line(b"before")
    waits = iter(range(6))

    def wait() -> bool:
        turn = next(waits)
        if turn < 5:
            log.write_line(f"line {turn} ......".encode())
        return turn < 5

    assert list(follow_lines(path, wait)) == [f"line {turn} ......" for turn in range(5)]
    log.close()


class FullDisk:
    """A file that cannot be written to."""

    def write(self, data: bytes) -> None:
        raise OSError(28, "No space left on device")


def test_full_disk_costs_lines_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = LimitedLog(tmp_path / "log")
    with monkeypatch.context() as full:
        full.setattr(log, "_file", FullDisk())
        log.write_line(b"one")
        log.write_line(b"two")
    assert log.lost_lines == 2
    log.write_line(b"three")
    log.close()
    assert last_lines(tmp_path / "log", 5) == ["headrace: 2 lines could not be written", "three"]


def test_disk_that_is_full_at_a_change_of_files_is_survived(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log"
    log = LimitedLog(path, size_max=10)
    log.write_line(b"12345678")
    with monkeypatch.context() as full:
        full.setattr(type(path), "open", lambda *_, **__: FullDisk().write(b""))
        log.write_line(b"lost")
        log.write_line(b"lost")
    log.write_line(b"again")
    log.close()
    assert last_lines(path, 5) == ["12345678", "headrace: 2 lines could not be written", "again"]


def test_lines_before_a_change_of_files_and_before_the_end_are_seen(tmp_path: Path) -> None:
    path = tmp_path / "log"
    log = LimitedLog(path, size_max=25)

    def wait() -> bool:
        for number in range(3):
            log.write_line(f"line {number} ..".encode())
        return False

    log.write_line(b"before")
    assert list(follow_lines(path, wait)) == ["line 0 ..", "line 1 ..", "line 2 .."]
    log.close()
