"""The disk of this machine, behind the Disk port.

Reads and writes name their position (``pread``, ``pwrite``), so one descriptor serves everybody.
A path that is not there raises FileNotFoundError; every other refusal of the system becomes
StorageFailure, or DiskFull, and says which path and why.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING

from headrace.model.errors import DiskFull, StorageFailure

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headrace.environment.ports import Buffer

BUFFERS_PER_CALL_MAX = 1024
"""IOV_MAX of Linux: more buffers go out in several calls."""
READ_SIZE_MAX = 1 << 30
"""One ``pread`` returns less than 2 GiB; longer reads are refused as a mistake of the caller."""
TEMPORARY_SUFFIX = ".tmp"

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
# macOS has neither call; fsync is stronger than fdatasync, so nothing is promised less.
_sync_data = getattr(os, "fdatasync", os.fsync)


def storage_failure(error: OSError, path: str, action: str) -> StorageFailure:
    """The error of the operating system as one of ours."""
    name = errno.errorcode.get(error.errno or 0, "unknown")
    kind = DiskFull if error.errno in _FULL else StorageFailure
    return kind(f"cannot {action} {path}: {error.strerror or error} ({name})")


@contextmanager
def _translated(path: str, action: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise storage_failure(error, path, action) from error


class RealFile:
    """An open descriptor. Closing twice is harmless; using it after that is a StorageFailure."""

    __slots__ = ("_descriptor", "path")

    def __init__(self, path: str, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor

    def write_at(self, position: int, data: Buffer) -> None:
        try:
            written = os.pwrite(self._descriptor, data, position)
            if written < len(data):
                self._write_rest(position, data, written)
        except OSError as error:
            raise storage_failure(error, self.path, "write to") from error

    def _write_rest(self, position: int, data: Buffer, written: int) -> None:
        """A write may be cut short, for one by a disk that fills up: go on or learn why."""
        with memoryview(data) as view:
            while written < len(view):
                written += os.pwrite(self._descriptor, view[written:], position + written)

    def write_all_at(self, position: int, buffers: Sequence[Buffer]) -> None:
        if len(buffers) == 1:
            self.write_at(position, buffers[0])
            return
        for start in range(0, len(buffers), BUFFERS_PER_CALL_MAX):
            group = buffers[start : start + BUFFERS_PER_CALL_MAX]
            size = sum(map(len, group))
            try:
                written = os.pwritev(self._descriptor, group, position)
                if written < size:
                    self._write_rest(position, b"".join(group), written)
            except OSError as error:
                raise storage_failure(error, self.path, "write to") from error
            position += size

    def read_at(self, position: int, size: int) -> bytes:
        assert size <= READ_SIZE_MAX, f"a read of {size} bytes, the limit is {READ_SIZE_MAX}"
        try:
            data = os.pread(self._descriptor, size, position)
            while len(data) < size:
                more = os.pread(self._descriptor, size - len(data), position + len(data))
                if not more:
                    break
                data += more
        except OSError as error:
            raise storage_failure(error, self.path, "read") from error
        return data

    def truncate(self, size: int) -> None:
        with _translated(self.path, "truncate"):
            os.ftruncate(self._descriptor, size)

    def allocate(self, size: int) -> None:
        with _translated(self.path, "allocate"):
            if size <= os.fstat(self._descriptor).st_size:
                return
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(self._descriptor, 0, size)
            else:
                os.ftruncate(self._descriptor, size)

    def sync(self) -> None:
        with _translated(self.path, "sync"):
            if self._descriptor < 0:  # the call itself would say ValueError
                raise OSError(errno.EBADF, os.strerror(errno.EBADF))
            _sync_data(self._descriptor)

    def size(self) -> int:
        with _translated(self.path, "look at"):
            return os.fstat(self._descriptor).st_size

    def fileno(self) -> int:
        return self._descriptor

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            with _translated(self.path, "close"):
                os.close(descriptor)


class RealDisk:
    """The file system of this machine."""

    def open(self, path: str, *, create: bool = False) -> RealFile:
        flags = os.O_CLOEXEC | (os.O_CREAT if create else 0)
        with _translated(path, "open"):
            try:
                return RealFile(path, os.open(path, os.O_RDWR | flags, 0o644))
            except OSError as error:
                # Tools look into directories that they may not write to.
                if create or error.errno not in (errno.EACCES, errno.EROFS):
                    raise
                return RealFile(path, os.open(path, os.O_RDONLY | flags))

    def exists(self, path: str) -> bool:
        return os.path.lexists(path)

    def size(self, path: str) -> int:
        with _translated(path, "look at"):
            return os.stat(path).st_size

    def modified_ms(self, path: str) -> int:
        with _translated(path, "look at"):
            return os.stat(path).st_mtime_ns // 1_000_000

    def list(self, path: str) -> list[str]:
        with _translated(path, "list"):
            return sorted(os.listdir(path))

    def is_directory(self, path: str) -> bool:
        try:
            return stat.S_ISDIR(os.stat(path).st_mode)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            raise storage_failure(error, path, "look at") from error

    def make_directory(self, path: str) -> None:
        with _translated(path, "make the directory"):
            os.makedirs(path, exist_ok=True)

    def remove(self, path: str) -> None:
        with _translated(path, "remove"):
            os.remove(path)

    def remove_tree(self, path: str) -> None:
        with _translated(path, "remove"):
            if self.exists(path):
                shutil.rmtree(path)

    def rename(self, source: str, target: str) -> None:
        with _translated(source, f"rename to {target}"):
            os.replace(source, target)

    def sync_directory(self, path: str) -> None:
        with _translated(path, "sync the directory"):
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def read_file(self, path: str) -> bytes:
        with _translated(path, "read"), open(path, "rb") as file:
            return file.read()

    def replace_file(self, path: str, data: Buffer, *, sync: bool = True) -> None:
        temporary = path + TEMPORARY_SUFFIX
        file = self.open(temporary, create=True)
        try:
            file.truncate(0)
            file.write_at(0, data)
            if sync:
                file.sync()
        finally:
            file.close()
        self.rename(temporary, path)
        if sync:
            self.sync_directory(os.path.dirname(path) or ".")

    def free_bytes(self, path: str) -> int:
        with _translated(path, "look at"):
            space = os.statvfs(path)
            return space.f_bavail * space.f_frsize

    def total_bytes(self, path: str) -> int:
        with _translated(path, "look at"):
            space = os.statvfs(path)
            return space.f_blocks * space.f_frsize
