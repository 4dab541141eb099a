"""The few file operations that a plain table's manifest needs, on a local disk or an object store.

``create`` is the one that counts: it makes a whole file or none, and never replaces one. Two
writers that want the same version cannot both get it.
"""

from __future__ import annotations

import os
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import from_url

from headrace.pipeline.tables.errors import refusal, refusals_named

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from obstore.store import ObjectStore

SYNC_THREADS_MAX = 8
UNFINISHED_SUFFIX = ".tmp"


class SmallFiles(Protocol):
    """Paths are relative to the table and have forward slashes."""

    def read(self, path: str) -> bytes | None: ...

    def create(self, path: str, data: bytes) -> bool:
        """False: the file exists, and was left alone."""

    def replace(self, path: str, data: bytes) -> None: ...

    def remove(self, path: str) -> None:
        """Does nothing if there is no such file."""

    def exists(self, path: str) -> bool: ...

    def is_empty(self) -> bool:
        """Nothing is there but what Headrace may have left when it began."""

    def listing(self, directory: str) -> Iterator[tuple[str, int]]:
        """Path and time of the last change in ms of each file below a directory."""

    def sync(self, paths: Iterable[str]) -> None:
        """Returns when the files would survive a power failure. Raises for one that is missing."""


class LocalFiles:
    """A directory. Needs a file system with hard links."""

    def __init__(self, root: str, *, is_synced: bool = True) -> None:
        self._root = root
        self._is_synced = is_synced

    def read(self, path: str) -> bytes | None:
        with refusals_named(self._root):
            try:
                with open(self._at(path), "rb") as file:
                    return file.read()
            except FileNotFoundError:
                return None

    def create(self, path: str, data: bytes) -> bool:
        with refusals_named(self._root):
            temporary = self._write_aside(path, data)
            try:
                os.link(temporary, self._at(path))
            except FileExistsError:
                return False
            finally:
                os.unlink(temporary)
            self._sync_directory(os.path.dirname(self._at(path)))
            return True

    def replace(self, path: str, data: bytes) -> None:
        with refusals_named(self._root):
            os.replace(self._write_aside(path, data), self._at(path))

    def remove(self, path: str) -> None:
        with refusals_named(self._root):
            try:
                os.unlink(self._at(path))
            except FileNotFoundError:
                return

    def exists(self, path: str) -> bool:
        return os.path.exists(self._at(path))

    def is_empty(self) -> bool:
        with refusals_named(self._root):
            try:
                return set(os.listdir(self._root)) <= {"_headrace"}
            except FileNotFoundError:
                return True

    def listing(self, directory: str) -> Iterator[tuple[str, int]]:
        for folder, _, names in os.walk(self._at(directory)):
            for name in names:
                full = os.path.join(folder, name)
                try:
                    modified_ms = os.stat(full).st_mtime_ns // 1_000_000
                except FileNotFoundError:  # somebody else cleans up too
                    continue
                yield os.path.relpath(full, self._root).replace(os.sep, "/"), modified_ms

    def sync(self, paths: Iterable[str]) -> None:
        full = [self._at(path) for path in paths]
        if not self._is_synced or not full:
            return
        with refusals_named(self._root), ThreadPoolExecutor(SYNC_THREADS_MAX) as pool:
            list(pool.map(_sync_file, full))
            for directory in self._directories_of(full):
                _sync_file(directory)

    def _directories_of(self, paths: Iterable[str]) -> set[str]:
        """Also those above: a directory made today is an entry in another one."""
        found: set[str] = set()
        for path in paths:
            directory = os.path.dirname(path)
            while len(directory) >= len(self._root) and directory not in found:
                found.add(directory)
                directory = os.path.dirname(directory)
        return found

    def _write_aside(self, path: str, data: bytes) -> str:
        temporary = f"{self._at(path)}.{uuid.uuid4().hex[:12]}{UNFINISHED_SUFFIX}"
        os.makedirs(os.path.dirname(temporary), exist_ok=True)
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            if self._is_synced:
                os.fsync(file.fileno())
        return temporary

    def _sync_directory(self, directory: str) -> None:
        if self._is_synced:
            _sync_file(directory)

    def _at(self, path: str) -> str:
        return os.path.join(self._root, path)


def _sync_file(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class StoredFiles:
    """An object store that has conditional puts: S3 and its like, through obstore."""

    def __init__(self, store: ObjectStore, url: str = "store://") -> None:
        self._store = store
        self._url = url

    @classmethod
    def at(cls, url: str, options: Mapping[str, str] | None = None) -> StoredFiles:
        """Options are obstore's: ``region``, ``endpoint``, ``access_key_id`` and so on."""
        config: Any = dict(options) if options else None
        return cls(from_url(url, config=config), url)

    def read(self, path: str) -> bytes | None:
        with self._refusals_named():
            try:
                return bytes(obstore.get(self._store, path).bytes())
            except FileNotFoundError:
                return None

    def create(self, path: str, data: bytes) -> bool:
        with self._refusals_named():
            try:
                obstore.put(self._store, path, data, mode="create", use_multipart=False)
            except AlreadyExistsError:
                return False
            return True

    def replace(self, path: str, data: bytes) -> None:
        with self._refusals_named():
            obstore.put(self._store, path, data, use_multipart=False)

    def remove(self, path: str) -> None:
        with self._refusals_named():
            try:
                obstore.delete(self._store, path)
            except FileNotFoundError:
                return

    def exists(self, path: str) -> bool:
        with self._refusals_named():
            try:
                obstore.head(self._store, path)
            except FileNotFoundError:
                return False
            return True

    def is_empty(self) -> bool:
        with self._refusals_named():
            found = obstore.list_with_delimiter(self._store)
        return not found["objects"] and set(found["common_prefixes"]) <= {"_headrace"}

    def listing(self, directory: str) -> Iterator[tuple[str, int]]:
        with self._refusals_named():
            for page in obstore.list(self._store, prefix=directory):
                for each in page:
                    yield each["path"], int(each["last_modified"].timestamp() * 1000)

    def sync(self, paths: Iterable[str]) -> None:
        """What an object store has acknowledged is there to stay; only look that it is."""
        with self._refusals_named():
            for path in paths:
                obstore.head(self._store, path)

    @contextmanager
    def _refusals_named(self) -> Iterator[None]:
        try:
            yield
        except (BaseError, OSError) as error:
            raise refusal(self._url, error) from error
