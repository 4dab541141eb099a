"""A bounded number of open descriptors for any number of files.

Each file has a ``FileHandle`` whose ``file`` is None while it is closed. Users write
``handle.file or handle.open()`` and set ``handle.used``; when the limit is reached, handles that
were not used since the last sweep are closed first (the "clock" algorithm: marking a use costs one
store, where a linked list would cost a call).
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from headrace.model.errors import DamagedLog, StorageFailure

if TYPE_CHECKING:
    from headrace.environment.ports import Disk, DiskFile

DESCRIPTOR_LIMIT_DEFAULT = 2_000


class FileHandle:
    """One file that may be open or not."""

    __slots__ = ("_files", "creates", "disk", "file", "is_retired", "path", "pins", "used")

    def __init__(self, files: OpenFiles, path: str) -> None:
        self._files = files
        self.disk = files.disk
        self.path = path
        self.file: DiskFile | None = None
        self.used = False
        self.pins = 0
        self.creates = False
        self.is_retired = False

    def open(self) -> DiskFile:
        """The open file; makes room for it first if the limit is reached."""
        file = self.file
        if file is None:
            file = self._files.open(self)
        self.used = True
        return file

    def pin(self) -> None:
        """Keep the descriptor open until as many ``release`` calls have come."""
        self.open()
        self.pins += 1

    def release(self) -> None:
        self.pins -= 1
        if self.is_retired and self.pins == 0:
            self.close()

    def close(self) -> None:
        """Give the descriptor back now; the next ``open`` opens again."""
        file = self.file
        if file is not None:
            self.file = None
            self._files.forget_one()
            file.close()

    def retire(self) -> None:
        """Close now, or as soon as nobody has it pinned: the file is about to go."""
        self.is_retired = True
        if self.pins == 0:
            self.close()


def _missing(handle: FileHandle) -> StorageFailure:
    if handle.is_retired:
        return StorageFailure(f"{handle.path} was removed from its log")
    return DamagedLog(f"{handle.path} is missing")


class OpenFiles:
    """All descriptors that the storage layer holds."""

    def __init__(self, disk: Disk, limit: int = DESCRIPTOR_LIMIT_DEFAULT) -> None:
        self.disk = disk
        self.limit = limit
        self.open_count = 0
        self._ring: deque[FileHandle] = deque()

    def handle(self, path: str) -> FileHandle:
        return FileHandle(self, path)

    def open(self, handle: FileHandle) -> DiskFile:
        if self.open_count >= self.limit:
            self._make_room()
        try:
            file = self.disk.open(handle.path, create=handle.creates)
        except FileNotFoundError as error:
            raise _missing(handle) from error
        handle.file = file
        handle.creates = False
        self.open_count += 1
        if len(self._ring) > 2 * self.limit:
            self._ring = deque({h: None for h in self._ring if h.file is not None})
        self._ring.append(handle)
        return file

    def forget_one(self) -> None:
        self.open_count -= 1

    def _make_room(self) -> None:
        """Close one handle. Two rounds suffice: the first clears every mark of use.

        If all are pinned, the limit is exceeded rather than a reader cut off.
        """
        ring = self._ring
        for _ in range(2 * len(ring)):
            handle = ring.popleft()
            if handle.file is None:
                continue
            if handle.pins or handle.used:
                handle.used = False
                ring.append(handle)
                continue
            handle.close()
            return

    def close_all(self) -> None:
        while self._ring:
            self._ring.popleft().close()
