"""Putting a cleaned segment into the place of the old ones, so that a crash at any moment is safe.

``.cleaned`` -> ``.swap`` -> final name, as Kafka does it. A ``.cleaned`` file is worth nothing: it
may be half written. A ``.log.swap`` file is complete and on the medium, and *replaces* every
segment whose base offset lies in its range: after a crash recovery (``swap_files.py``) goes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.model.errors import StorageFailure
from headrace.storage.file_names import (
    CLEANED_SUFFIX,
    DELETED_SUFFIX,
    INDEX_SUFFIXES,
    LOG_SUFFIX,
    SEGMENT_SUFFIXES,
    SNAPSHOT_SUFFIX,
    SWAP_SUFFIX,
    segment_file,
)
from headrace.storage.log_trimming import remove_later
from headrace.storage.segment import Segment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.environment.ports import Disk
    from headrace.storage.log import SegmentedLog


class _Renames:
    """Renames that can be taken back in reverse order."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._done: list[tuple[str, str]] = []

    def rename(self, source: str, target: str) -> None:
        self._disk.rename(source, target)
        self._done.append((source, target))

    def rename_if_there(self, source: str, target: str) -> bool:
        if not self._disk.exists(source):
            return False
        self.rename(source, target)
        return True

    def take_back(self) -> None:
        while self._done:
            source, target = self._done.pop()
            self._disk.rename(target, source)


def swap_in(log: SegmentedLog, old: Sequence[Segment]) -> Segment:
    """Replace neighbouring closed segments by the cleaned one that has the first one's offset.

    On the loop's thread. If the disk refuses, all is as before and the error is raised.
    """
    renames = _Renames(log.environment.disk)
    try:
        deleted = _rename_all(log, old, renames)
    except (StorageFailure, OSError):
        renames.take_back()
        raise
    base_offset = old[0].base_offset
    segment = Segment(
        log.environment.files,
        log.directory,
        base_offset,
        log.config,
        log.environment.clock.now_ms(),
    )
    number = log.segments.index(old[0])
    log.segments[number : number + len(old)] = [segment]
    for gone in old:
        gone.retire()
    # Their files went with the segments; from here on nothing can fail.
    gone_offsets = {gone.base_offset for gone in old[1:]}
    log.snapshots.offsets = [o for o in log.snapshots.offsets if o not in gone_offsets]
    if deleted:
        remove_later(log, deleted)
    return segment


def _rename_all(log: SegmentedLog, old: Sequence[Segment], renames: _Renames) -> list[str]:
    """The rename of the log file is the last step; the names that are to be removed later."""
    first, disk = old[0], log.environment.disk
    deleted: list[str] = []
    paths = {
        suffix: segment_file(log.directory, first.base_offset, suffix)
        for suffix in SEGMENT_SUFFIXES
    }
    for suffix in (*INDEX_SUFFIXES, LOG_SUFFIX):
        renames.rename_if_there(paths[suffix] + CLEANED_SUFFIX, paths[suffix] + SWAP_SUFFIX)
    # Old files must not go before the medium knows the new one by its name.
    disk.sync_directory(log.directory)
    for segment in old[1:]:
        snapshot = segment_file(log.directory, segment.base_offset, SNAPSHOT_SUFFIX)
        for path in (*segment.existing_paths(), snapshot):
            if renames.rename_if_there(path, path + DELETED_SUFFIX):
                deleted.append(path + DELETED_SUFFIX)
    for suffix in INDEX_SUFFIXES:
        if renames.rename_if_there(paths[suffix], paths[suffix] + DELETED_SUFFIX):
            deleted.append(paths[suffix] + DELETED_SUFFIX)
        renames.rename_if_there(paths[suffix] + SWAP_SUFFIX, paths[suffix])
    # And the new one must not be taken for an ordinary segment while old ones overlap with it.
    disk.sync_directory(log.directory)
    renames.rename(paths[LOG_SUFFIX] + SWAP_SUFFIX, paths[LOG_SUFFIX])
    return deleted


def remove_cleaned(disk: Disk, directory: str, base_offset: int) -> None:
    """Give up a cleaned segment that was not swapped in."""
    for suffix in SEGMENT_SUFFIXES:
        path = segment_file(directory, base_offset, suffix) + CLEANED_SUFFIX
        if disk.exists(path):
            disk.remove(path)
