"""A run of bytes of one segment: what a read answers with.

Nothing is read until ``read`` is called, or the socket layer sends it from the file itself; for the
latter it is pinned, so that the descriptor is neither closed nor reused while it waits in a queue.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from headrace.model.errors import DamagedLog

if TYPE_CHECKING:
    from headrace.environment.ports import DiskFile
    from headrace.storage.open_files import FileHandle


class LogSlice(Protocol):
    """A run of whole batches; the last one may be cut, which readers have to expect."""

    first_offset: int
    position: int

    def __len__(self) -> int: ...

    @property
    def file(self) -> DiskFile | None:
        """The file to send from, or None if the bytes are in memory."""

    def read(self) -> bytes: ...

    def pin(self) -> None:
        """Keep the descriptor open until ``release``."""

    def release(self) -> None: ...


class FileSlice:
    """Bytes ``[position, position + len)`` of a segment file."""

    __slots__ = ("_handle", "_size", "first_offset", "position")

    def __init__(self, handle: FileHandle, position: int, size: int, first_offset: int) -> None:
        self._handle = handle
        self.position = position
        self._size = size
        self.first_offset = first_offset

    def __len__(self) -> int:
        return self._size

    @property
    def file(self) -> DiskFile:
        """The open file, for ``sendfile``. Hold a pin while it is used."""
        return self._handle.open()

    def read(self) -> bytes:
        data = self._handle.open().read_at(self.position, self._size)
        if len(data) != self._size:
            raise DamagedLog(
                f"{self._handle.path}: {len(data)} of {self._size} bytes at {self.position}"
            )
        return data

    def pin(self) -> None:
        self._handle.pin()

    def release(self) -> None:
        self._handle.release()


class BytesSlice:
    """Bytes that are in memory already; also the empty slice."""

    __slots__ = ("_data", "first_offset", "position")

    def __init__(self, data: bytes, first_offset: int) -> None:
        self._data = data
        self.first_offset = first_offset
        self.position = 0

    def __len__(self) -> int:
        return len(self._data)

    @property
    def file(self) -> None:
        return None

    def read(self) -> bytes:
        return self._data

    def pin(self) -> None:
        """Memory stays as long as it is referred to."""

    def release(self) -> None:
        """See ``pin``."""
