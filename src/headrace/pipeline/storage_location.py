"""Where the broker's files are: a directory of this machine, or an object store.

One small port for both. A file of the log is read through windows: of a local file they are views
of a memory map, of an object they come from ranged gets with one of them ahead. A file that is gone
raises FileVanished, which is no fault: segments are replaced and removed while they are read.
"""

from __future__ import annotations

import mmap
import os
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from urllib.parse import unquote, urlsplit

from headrace.pipeline.errors import StorageUnreachable
from headrace.storage.metadata_files import (
    META_PROPERTIES,
    META_PROPERTIES_SIZE_MAX,
    parse_properties,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

OBJECT_STORE_PREFIX = "obstore+"
"""``obstore+file:///...``: a directory, but read as an object store would be."""


class FileVanished(Exception):
    """A file that was there a moment ago is not there any more. Look again."""


class StoredFile(NamedTuple):
    """``identity`` is another one when a file of the same name has replaced it."""

    name: str
    size_bytes: int
    identity: str


class SegmentFile(Protocol):
    """An open file, as long as it was when it was opened."""

    size_bytes: int
    identity: str
    read_ahead_to: int
    """Nothing behind this position will be asked for, it seems."""

    def window(self, position: int, size_bytes: int) -> memoryview:
        """Bytes from ``position`` on, fewer at the end; valid until the next call."""

    def close(self) -> None: ...


class StorageLocation(Protocol):
    """The data directory of a broker."""

    url: str

    def files(self, directory: str, suffixes: Iterable[str]) -> list[StoredFile]:
        """The files of a directory whose names end so; none if there is no such directory."""

    def read(self, path: str, size_bytes_max: int) -> bytes:
        """A small file as a whole."""

    def open(self, path: str, size_bytes: int) -> SegmentFile: ...


def open_location(url: str) -> StorageLocation:
    """``/dir`` and ``file:///dir`` are local; anything else goes through obstore."""
    if url.startswith(OBJECT_STORE_PREFIX):
        return ObjectLocation(url.removeprefix(OBJECT_STORE_PREFIX))
    parts = urlsplit(url)
    if parts.scheme in ("", "file"):
        if parts.netloc not in ("", "localhost"):
            raise StorageUnreachable(f"{url}: a file URL with a host; expected file:///directory")
        return LocalLocation(unquote(parts.path) if parts.scheme else url)
    return ObjectLocation(url)


def cluster_id_of(location: StorageLocation) -> str:
    """Whose files these are; StorageUnreachable if that cannot be read."""
    try:
        data = location.read(META_PROPERTIES, META_PROPERTIES_SIZE_MAX)
    except FileVanished as error:
        raise StorageUnreachable(
            f"{location.url} cannot be read from here: there is no {META_PROPERTIES}"
        ) from error
    cluster_id = parse_properties(data.decode(errors="replace")).get("cluster.id")
    if not cluster_id:
        raise StorageUnreachable(f"{location.url}/{META_PROPERTIES} names no cluster")
    return cluster_id


# --- a directory ---------------------------------------------------------------------------------


class LocalLocation:
    """A directory of this machine."""

    def __init__(self, directory: str) -> None:
        self.url = directory.rstrip("/") or "/"

    def files(self, directory: str, suffixes: Iterable[str]) -> list[StoredFile]:
        endings = tuple(suffixes)
        found = []
        try:
            with os.scandir(f"{self.url}/{directory}") as entries:
                for entry in entries:
                    if entry.name.endswith(endings):
                        try:
                            status = entry.stat()
                        except FileNotFoundError:
                            continue  # Renamed or removed since the directory was read.
                        found.append(StoredFile(entry.name, status.st_size, str(status.st_ino)))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StorageUnreachable(f"{self.url}/{directory}: {error.strerror}") from error
        return found

    def read(self, path: str, size_bytes_max: int) -> bytes:
        try:
            with open(f"{self.url}/{path}", "rb") as file:
                data = file.read(size_bytes_max + 1)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise FileVanished(f"{self.url}/{path}") from error
        except OSError as error:
            raise StorageUnreachable(f"{self.url}/{path}: {error.strerror}") from error
        if len(data) > size_bytes_max:
            raise StorageUnreachable(f"{self.url}/{path} is larger than {size_bytes_max} bytes")
        return data

    def open(self, path: str, size_bytes: int) -> LocalSegmentFile:
        """The size of the moment counts, not the one of a listing."""
        try:
            return LocalSegmentFile(f"{self.url}/{path}")
        except FileNotFoundError as error:
            raise FileVanished(f"{self.url}/{path}") from error
        except OSError as error:
            raise StorageUnreachable(f"{self.url}/{path}: {error.strerror}") from error


class LocalSegmentFile:
    """A memory map: it outlives the name of the file, so nothing can be pulled away under it."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._map: memoryview | None = None
        try:
            status = os.fstat(self._descriptor)
            self.size_bytes = self.read_ahead_to = status.st_size
            self.identity = str(status.st_ino)
            if self.size_bytes:
                mapped = mmap.mmap(self._descriptor, self.size_bytes, prot=mmap.PROT_READ)
                mapped.madvise(mmap.MADV_SEQUENTIAL)
                self._map = memoryview(mapped)
        except BaseException:
            os.close(self._descriptor)
            raise

    def window(self, position: int, size_bytes: int) -> memoryview:
        if self._map is None:
            return memoryview(b"")
        # To touch a page behind the end of a file that was cut would kill the process.
        if os.fstat(self._descriptor).st_size < self.size_bytes:
            raise FileVanished(f"{self._path} became shorter while it was read")
        return self._map[position : position + size_bytes]

    def close(self) -> None:
        """The map goes with the last view of it."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
            self._map = None


# --- an object store -----------------------------------------------------------------------------


class _Chunk(NamedTuple):
    start: int
    data: memoryview
    identity: str

    @property
    def end(self) -> int:
        return self.start + len(self.data)


class ObjectLocation:
    """Anything that obstore opens; credentials come from the environment, as it looks for them."""

    def __init__(self, url: str) -> None:
        from obstore.exceptions import BaseError
        from obstore.store import from_url

        self.url = url.rstrip("/")
        self._base_error = BaseError
        try:
            self._store: Any = from_url(url)
        except (BaseError, ValueError, OSError) as error:
            raise StorageUnreachable(f"{url}: {_first_line(error)}") from error

    def files(self, directory: str, suffixes: Iterable[str]) -> list[StoredFile]:
        endings = tuple(suffixes)
        try:
            with self._errors(directory):
                objects = self._store.list_with_delimiter(directory)["objects"]
        except FileVanished:
            return []
        return [
            StoredFile(item["path"].rpartition("/")[2], item["size"], item["e_tag"] or "")
            for item in objects
            if item["path"].endswith(endings)
        ]

    def read(self, path: str, size_bytes_max: int) -> bytes:
        with self._errors(path):
            result = self._store.get(path)
            if result.meta["size"] > size_bytes_max:
                raise StorageUnreachable(f"{self.url}/{path} is larger than {size_bytes_max} bytes")
            return bytes(result.bytes())

    def open(self, path: str, size_bytes: int) -> ObjectSegmentFile:
        return ObjectSegmentFile(self, path, size_bytes)

    def get(self, path: str, start: int, end: int) -> _Chunk:
        """One ranged get: all its bytes are of one version of the object."""
        with self._errors(path):
            try:
                result = self._store.get(path, options={"range": (start, end)})
            except self._base_error as error:
                # Stores do not agree on the error for a range behind the end.
                if self._store.head(path)["size"] >= end:
                    raise
                raise FileVanished(f"{path} became shorter while it was read") from error
            identity = result.meta["e_tag"] or ""
            return _Chunk(start, memoryview(result.bytes()), identity)

    @contextmanager
    def _errors(self, path: str) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError as error:
            raise FileVanished(f"{self.url}/{path}") from error
        except (self._base_error, OSError) as error:
            raise StorageUnreachable(f"{self.url}/{path}: {_first_line(error)}") from error


class ObjectSegmentFile:
    """Windows over ranged gets; the next one is under way while this one is decoded.

    Holds at most three windows. An object may be replaced between two gets: bytes of two versions
    are never joined, and ``identity`` is that of the bytes given last.
    """

    def __init__(self, location: ObjectLocation, path: str, size_bytes: int) -> None:
        self.size_bytes = self.read_ahead_to = size_bytes
        self.identity = ""
        self._location = location
        self._path = path
        self._chunk: _Chunk | None = None
        self._ahead: Future[_Chunk] | None = None
        self._ahead_start = -1
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="headrace-read-ahead")

    def window(self, position: int, size_bytes: int) -> memoryview:
        end = min(position + size_bytes, self.size_bytes)
        if position >= end:
            return memoryview(b"")
        chunk = self._chunk
        if chunk is None or not chunk.start <= position <= end <= chunk.end:
            chunk = self._chunk = self._next_chunk(chunk, position, end)
            self._read_ahead(chunk.end, size_bytes)
        self.identity = chunk.identity
        return chunk.data[position - chunk.start : end - chunk.start]

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)
        self._chunk = None
        self._ahead = None

    def _next_chunk(self, chunk: _Chunk | None, position: int, end: int) -> _Chunk:
        ahead = self._take_ahead(chunk, position)
        if (
            chunk is not None
            and ahead is not None
            and ahead.identity == chunk.identity
            and end <= ahead.end
        ):
            left = chunk.data[position - chunk.start :]
            joined = b"".join((left, ahead.data)) if len(left) else ahead.data
            return _Chunk(position, memoryview(joined), chunk.identity)
        found = self._location.get(self._path, position, end)
        if found.end < end:
            raise FileVanished(f"{self._path} became shorter while it was read")
        return found

    def _take_ahead(self, chunk: _Chunk | None, position: int) -> _Chunk | None:
        ahead, self._ahead = self._ahead, None
        if ahead is None or chunk is None or self._ahead_start != chunk.end:
            return None
        if position < chunk.start or position > chunk.end:
            return None
        return ahead.result()

    def _read_ahead(self, start: int, size_bytes: int) -> None:
        end = min(start + size_bytes, self.size_bytes, self.read_ahead_to)
        if start < end:
            self._ahead_start = start
            self._ahead = self._thread.submit(self._location.get, self._path, start, end)


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]
