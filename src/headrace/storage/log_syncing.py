"""Bringing a log to the medium: inline, in the background, and at the stop.

The recovery point is the offset up to which a log is known to be there; it only moves after a sync.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.storage.log import SegmentedLog
    from headrace.storage.segment import Segment


class SyncJob(NamedTuple):
    """``work`` may run in a thread, it touches files only; ``done`` follows on the loop."""

    work: Callable[[], None]
    done: Callable[[BaseException | None], None]


def flush(log: SegmentedLog) -> None:
    """Everything up to the log's end reaches the medium before this returns."""
    if log.recovery_point >= log.log_end_offset:
        return
    for segment in unsynced_segments(log):
        segment.sync(log.environment.sync_file)
    log.environment.disk.sync_directory(log.directory)
    log.raise_recovery_point(log.log_end_offset)


def sync_records(log: SegmentedLog) -> None:
    """As ``flush``, for the records alone: one sync per log makes the stop of many bearable.

    Snapshots have a checksum, and indexes are checked when they are first used.
    """
    if log.recovery_point >= log.log_end_offset:
        return
    for segment in unsynced_segments(log):
        if segment.size_bytes:
            log.environment.sync_file(segment.handle.open())
    log.raise_recovery_point(log.log_end_offset)


def unsynced_segments(log: SegmentedLog) -> list[Segment]:
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

    def work() -> None:
        for file in files:
            sync_file(file)
        if not log.is_deleted:
            disk.sync_directory(directory)

    def done(error: BaseException | None) -> None:
        for handle in handles:
            handle.release()
        # In order: a segment whose sync failed keeps the point before it, until ``flush``. And
        # what was written over a cut meanwhile is not what was synced.
        is_current = not log.is_deleted and log.truncation_count == truncations
        if error is None and is_current and log.recovery_point >= start_offset:
            log.raise_recovery_point(end_offset)

    return SyncJob(work, done)
