"""A job's log: a file that is begun anew at a size, with one older file beside it.

Whoever reads it (``headrace pipeline logs``) sees the older part, then the newer one.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from contextlib import suppress
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

LOG_BYTES_MAX = 10 * 2**20
"""Of one of the two files."""
LINE_BYTES_MAX = 64 * 2**10
OLDER_SUFFIX = ".1"


class LimitedLog:
    """Appends lines; never more than two files of ``size_max`` bytes and a line.

    A full disk must not stop the job that writes here, nor whoever supervises it: lines that cannot
    be written are counted, and the number is told with the next one that can.
    """

    def __init__(self, path: Path, size_max: int = LOG_BYTES_MAX) -> None:
        self._path = path
        self._size_max = size_max
        self._lock = threading.Lock()
        # Unbuffered: a line is in the file when it is written, or it is known not to be.
        self._file: IO[bytes] = path.open("ab", buffering=0)
        self._size = self._file.tell()
        self.lost_lines = 0

    def write_line(self, line: bytes) -> None:
        text = line[:LINE_BYTES_MAX].rstrip(b"\r\n") + b"\n"
        with self._lock:
            if self.lost_lines:
                text = b"headrace: %d lines could not be written\n%b" % (self.lost_lines, text)
            try:
                if self._size and self._size + len(text) > self._size_max:
                    self._begin_anew()
                self._file.write(text)
            except OSError:
                self.lost_lines += 1
                return
            self._size += len(text)
            self.lost_lines = 0

    def _begin_anew(self) -> None:
        with suppress(FileNotFoundError):  # the last try came no further than this
            os.replace(self._path, older_part(self._path))
        newer = self._path.open("ab", buffering=0)
        self._file.close()
        self._file = newer
        self._size = 0

    def close(self) -> None:
        self._file.close()


def older_part(path: Path) -> Path:
    return path.with_name(path.name + OLDER_SUFFIX)


def last_lines(path: Path, count: int) -> list[str]:
    """The last lines of both files together."""
    kept: deque[str] = deque(maxlen=count)
    for part in (older_part(path), path):
        file = _maybe_opened(part)
        if file is not None:
            with file:
                kept.extend(line.rstrip("\n") for line in file)
    return list(kept)


def follow_lines(path: Path, wait: Callable[[], bool]) -> Iterator[str]:
    """Lines that are written from now on, over a change of files too.

    ``wait`` is called when there is nothing new; the end comes when it answers False.
    """
    file = _maybe_opened(path)
    if file is not None:
        file.seek(0, os.SEEK_END)
    is_over = False
    try:
        while True:
            # Whether it was replaced is asked before it is read to its end: nothing comes after.
            is_current = file is not None and _is_open_file(path, file)
            while file is not None and (line := file.readline()):
                yield line.rstrip("\n")
            if is_current or (newer := _maybe_opened(path)) is None:
                if is_over:
                    return
                is_over = not wait()  # and then one last look
                continue
            if file is not None:
                file.close()
            file = newer
    finally:
        if file is not None:
            file.close()


def _maybe_opened(path: Path) -> IO[str] | None:
    try:
        return path.open("r", encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return None


def _is_open_file(path: Path, file: IO[str]) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(file.fileno()))
    except FileNotFoundError:  # between two files
        return False
