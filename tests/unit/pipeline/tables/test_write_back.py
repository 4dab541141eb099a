"""The system is asked to store files that are still being written; what it refuses is told."""

from __future__ import annotations

import ctypes
import errno
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from headrace.pipeline.tables import write_back
from headrace.pipeline.tables.write_back import SYNC_FILE_RANGE_WRITE, begin_write_back

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def stream(tmp_path: Path):
    with pa.OSFile(str(tmp_path / "file"), "wb") as opened:
        yield opened


def refuse_with(number: int, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    asked: list[tuple[int, ...]] = []

    def call(*arguments: int) -> int:
        asked.append(arguments)
        ctypes.set_errno(number)
        return -1 if number else 0

    monkeypatch.setattr(write_back, "_maybe_sync_file_range", lambda: call)
    return asked


def test_a_file_that_grows_stays_as_it_was_written(stream, tmp_path):
    for piece in (b"one", b"two"):
        stream.write(piece)
        begin_write_back(stream)
    stream.close()
    assert (tmp_path / "file").read_bytes() == b"onetwo"


def test_all_of_the_file_is_asked_for_and_nothing_is_waited_for(stream, monkeypatch):
    asked = refuse_with(0, monkeypatch)
    begin_write_back(stream)
    assert asked == [(stream.fileno(), 0, 0, SYNC_FILE_RANGE_WRITE)]


def test_a_full_disk_is_an_error(stream, monkeypatch):
    refuse_with(errno.ENOSPC, monkeypatch)
    with pytest.raises(OSError, match="No space left") as caught:
        begin_write_back(stream)
    assert caught.value.errno == errno.ENOSPC


@pytest.mark.parametrize("number", write_back.UNABLE)
def test_a_system_that_cannot_do_it_is_left_alone(stream, monkeypatch, number):
    refuse_with(number, monkeypatch)
    begin_write_back(stream)


def test_a_system_without_the_call_is_left_alone(stream, monkeypatch):
    monkeypatch.setattr(write_back, "_maybe_sync_file_range", lambda: None)
    begin_write_back(stream)
