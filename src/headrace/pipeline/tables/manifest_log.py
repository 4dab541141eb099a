"""The versions of a plain table's manifest: find the newest, add the next.

A version is there when its file is there; ``current`` is only a hint where to begin to look, so
that a crash between the two loses nothing. Old versions are removed, therefore a writer that slept
for very long could create a number anew: the hint tells it afterwards how late it is.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.pipeline.tables.errors import ConcurrentCommit, DamagedTable
from headrace.pipeline.tables.manifest import FULL_EVERY, Change, Manifest, base_of, decode, encode

if TYPE_CHECKING:
    import pyarrow as pa

    from headrace.pipeline.tables.commit_rules import TableState
    from headrace.pipeline.tables.manifest import Partitioning
    from headrace.pipeline.tables.small_files import SmallFiles

CURRENT = "_headrace/current"
VERSIONS_KEPT = 100
"""A reader that began with one of these finds what it needs."""
READ_ATTEMPTS_MAX = 5


def manifest_path(version: int) -> str:
    return f"_headrace/manifest-{version:020d}.json"


class ManifestLog:
    """Remembers the newest version it has seen, and reads only what came after."""

    def __init__(self, files: SmallFiles, where: str) -> None:
        self._files = files
        self._where = where
        self._known: Manifest | None = None

    def latest(self) -> Manifest | None:
        """The newest version; None if there is no table yet."""
        for _ in range(READ_ATTEMPTS_MAX):
            self._begin_at_hint()
            if not self._read_further():
                return self._known
        raise DamagedTable(f"versions of {self._where} are missing below {self._hint()}")

    def append(
        self,
        previous: Manifest | None,
        partitioning: Partitioning,
        *,
        state: TableState,
        schema: pa.Schema | None,
        change: Change,
        now_ms: int,
    ) -> Manifest:
        """The next version; ``ConcurrentCommit`` if somebody else has made it."""
        before = previous or Manifest(partitioning)
        version = before.version + 1
        is_full = version == 1 or version - before.base >= FULL_EVERY
        manifest = replace(
            before.apply(change, now_ms),
            version=version,
            base=version if is_full else before.base,
            state=state,
            schema=schema,
        )
        if not self._files.create(manifest_path(version), encode(manifest, change, now_ms)):
            raise ConcurrentCommit(f"version {version} of {self._where} is there already")
        self._raise_if_late(version)
        self._files.replace(CURRENT, str(version).encode())
        self._known = manifest
        return manifest

    def remove_old(self) -> None:
        """Versions that no reader begins with any more."""
        oldest = (self._known.base if self._known else 0) - VERSIONS_KEPT
        if oldest <= 0:
            return
        for path, _ in list(self._files.listing("_headrace")):
            if path.startswith("_headrace/manifest-") and path < manifest_path(oldest):
                self._files.remove(path)

    def _begin_at_hint(self) -> None:
        hint = self._hint()
        if hint <= (self._known.version if self._known else 0):
            return
        data = self._files.read(manifest_path(hint))
        base = 0 if data is None else base_of(data, manifest_path(hint))
        if self._known is None or self._known.version < base:
            whole = self._files.read(manifest_path(base))
            if whole is not None:  # else we were slow: the hint is another one by now
                self._known = decode(whole, None, f"{self._where}/{manifest_path(base)}")

    def _read_further(self) -> bool:
        """Whether a gap was met: versions were removed while they were read."""
        version = self._known.version if self._known else 0
        while (data := self._files.read(manifest_path(version + 1))) is not None:
            version += 1
            where = f"{self._where}/{manifest_path(version)}"
            self._known = decode(data, self._known, where)
        return version < self._hint()

    def _hint(self) -> int:
        data = self._files.read(CURRENT)
        try:
            return int(data or b"0")
        except ValueError as error:
            raise DamagedTable(f"{self._where}/{CURRENT} is not a number") from error

    def _raise_if_late(self, version: int) -> None:
        """Numbers are free again only when the hint is this far ahead; see ``remove_old``."""
        if (hint := self._hint()) - version >= VERSIONS_KEPT:
            self._files.remove(manifest_path(version))
            raise ConcurrentCommit(f"{self._where} is at version {hint}, beyond {version}")
