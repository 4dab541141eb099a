"""Bringing a log to the medium: inline, in the background, and at the stop.

The recovery point is the offset up to which a log is known to be there; it only moves after a sync.
Where the write-ahead log holds what was promised, it goes first: recovery keeps all that lies below
the point, and so must find the other parts of each append in the frames.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NamedTuple

from headrace.model.errors import HeadraceError, StorageFailure
from headrace.storage.file_names import SYNC_FAILED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.storage.log import SegmentedLog
    from headrace.storage.segment import Segment


_logger = logging.getLogger(__name__)


class SyncJob(NamedTuple):
    """``work`` may run in a thread, it touches files only; ``done`` follows on the loop."""

    work: Callable[[], None]
    done: Callable[[BaseException | None], None]


def fail(log: SegmentedLog, error: BaseException) -> None:
    """Let a log take nothing more: nobody knows what the medium has of it.

    After a failed sync the system takes the pages for written: a second sync that succeeds would
    say nothing. The next start reads what is there.
    """
    if log.failure is None:
        _logger.error("%s takes no records until the next start: %s", log.partition, error)
    log.failure = error
    log.is_direct = False
    try:
        log.environment.disk.open(f"{log.directory}/{SYNC_FAILED}", create=True).close()
    except (HeadraceError, OSError) as second:
        _logger.error("%s: cannot note that a sync failed: %s", log.partition, second)


def raise_failure(log: SegmentedLog) -> None:
    raise StorageFailure(f"{log.partition} failed before; restart the broker") from log.failure


def flush(log: SegmentedLog) -> None:
    """Everything up to the log's end reaches the medium before this returns."""
    if log.recovery_point >= log.log_end_offset:
        return
    segments = unsynced_segments(log)
    try:
        if log.is_synced:
            log.environment.sync_journal()
        for segment in segments:
            segment.sync(log.environment.sync_file)
        log.environment.disk.sync_directory(log.directory)
    except HeadraceError as error:
        fail(log, error)
        raise
    log.raise_recovery_point(log.log_end_offset)


def sync_records(log: SegmentedLog) -> None:
    """As ``flush``, for the records alone: few syncs per log make the stop of many bearable.

    Snapshots have a checksum, and indexes are checked when they are first used. Aborted
    transactions are not: that one is missing cannot be seen.
    """
    if log.recovery_point >= log.log_end_offset:
        return
    segments = unsynced_segments(log)
    try:
        for segment in segments:
            if segment.size_bytes:
                log.environment.sync_file(segment.handle.open())
            segment.transaction_index.sync(log.environment.sync_file)
        log.environment.disk.sync_directory(log.directory)
    except HeadraceError as error:
        fail(log, error)
        raise
    log.raise_recovery_point(log.log_end_offset)


def unsynced_segments(log: SegmentedLog) -> list[Segment]:
    if log.failure is not None:
        raise_failure(log)
    segments = log.segments[log.segment_number(log.recovery_point) :]
    for segment in segments:
        segment.load()
    return segments


def sync_job(log: SegmentedLog) -> SyncJob:
    """``flush`` in two parts."""
    segments = unsynced_segments(log)
    for segment in segments:
        segment.write_indexes()
    return segment_sync_job(log, segments, log.log_end_offset)


def segment_sync_job(log: SegmentedLog, segments: Sequence[Segment], end_offset: int) -> SyncJob:
    """Bring these segments to the medium; then recovery need not look at them again."""
    disk, directory, sync_file = log.environment.disk, log.directory, log.environment.sync_file
    handles = [
        handle
        for segment in segments
        for handle in segment.handles()
        if not handle.creates and disk.exists(handle.path)
    ]
    for handle in handles:
        handle.pin()
    files = [handle.open() for handle in handles]
    start_offset = segments[0].base_offset if segments else end_offset
    truncations = log.truncation_count
    sync_journal = log.environment.sync_journal if log.is_synced else None

    def work() -> None:
        if sync_journal is not None:
            sync_journal()
        for file in files:
            sync_file(file)
        if not log.is_deleted:
            disk.sync_directory(directory)

    def done(error: BaseException | None) -> None:
        for handle in handles:
            handle.release()
        if log.is_deleted:
            return
        if error is not None:
            fail(log, error)
        if log.failure is not None:
            return
        # In order: a segment that is not synced yet keeps the point before it. And what was
        # written over a cut meanwhile is not what was synced.
        if log.truncation_count == truncations and log.recovery_point >= start_offset:
            log.raise_recovery_point(end_offset)

    return SyncJob(work, done)
