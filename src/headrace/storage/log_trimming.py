"""Making a log shorter: from the front (DeleteRecords, retention) and from the end (truncation)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.model.errors import HeadraceError, OffsetOutOfRange
from headrace.storage.file_names import DELETED_SUFFIX
from headrace.storage.log_syncing import fail

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.storage.log import SegmentedLog
    from headrace.storage.segment import Segment


def delete_records_before(log: SegmentedLog, offset: int) -> int:
    """Raise the log start to ``offset``, give segments below it back; the new start."""
    if offset > log.high_watermark:
        raise OffsetOutOfRange(
            f"cannot delete up to {offset}: the high watermark of {log.partition} is"
            f" {log.high_watermark}"
        )
    if offset > log.log_start_offset:
        try:
            raise_log_start(log, offset)
        finally:
            # On a full disk the new start cannot be written down; this is what makes room for it.
            remove_first_segments(log, _count_below(log, offset))
    return log.log_start_offset


def raise_log_start(log: SegmentedLog, offset: int) -> None:
    """Never goes back: it is written down before anything is removed."""
    log.log_start_offset = offset
    try:
        log.environment.log_start_moved()
        log.epochs.truncate_from_start(offset)
    finally:
        log.notify()


def _count_below(log: SegmentedLog, offset: int) -> int:
    """How many segments, the active one excepted, hold nothing at or above ``offset``."""
    count = 0
    for following in log.segments[1:]:
        if following.base_offset > offset:
            break
        count += 1
    return count


def remove_first_segments(log: SegmentedLog, count: int) -> int:
    """Take the oldest segments out of the log and remove their files later; bytes given back."""
    gone, log.segments[:] = log.segments[:count], log.segments[count:]
    if not gone:
        return 0
    freed_bytes = sum(segment.known_size() for segment in gone)
    log.snapshots.remove([segment.base_offset for segment in gone])
    first_base = log.segments[0].base_offset
    try:
        if first_base > log.log_start_offset:
            raise_log_start(log, first_base)
    finally:
        # Also on a full disk: the base of the first segment that is left says where the log starts.
        discard_segments(log, gone)
    log.environment.counters.segments_deleted += len(gone)
    return freed_bytes


def discard_segments(log: SegmentedLog, segments: Sequence[Segment]) -> None:
    """Rename the files to ``.deleted`` now, remove them after ``file.delete.delay.ms``."""
    disk = log.environment.disk
    renamed: list[str] = []
    for segment in segments:
        paths = segment.existing_paths()
        segment.retire()
        for path in paths:
            disk.rename(path, path + DELETED_SUFFIX)
            renamed.append(path + DELETED_SUFFIX)
    if renamed:
        remove_later(log, renamed)


def remove_later(log: SegmentedLog, paths: list[str]) -> None:
    disk = log.environment.disk

    def remove() -> None:
        for path in paths:
            if disk.exists(path):
                disk.remove(path)

    def done(error: BaseException | None) -> None:
        # What could not be removed goes at the next start: recovery removes ``.deleted`` files.
        if error is not None and not isinstance(error, HeadraceError | OSError):
            raise error

    def start() -> None:
        log.environment.background.submit(remove, done)

    log.environment.background.call_later(log.config.file_delete_delay_ms / 1000, start)


def truncate_to(log: SegmentedLog, offset: int) -> None:
    """Drop all records from ``offset`` on; the batch that holds it goes as a whole."""
    if offset >= log.log_end_offset:
        return
    log.load_active()
    segment = log.segments[log.segment_number(offset)]
    segment.load()
    place = segment.find(offset)
    if place is not None:
        offset = min(offset, place.base_offset)
    log.environment.truncating(log, offset)
    log.truncation_count += 1
    try:
        _cut_files(log, offset)
    except (HeadraceError, OSError) as error:
        # Some files are cut and some are not: only the next start can tell what the log holds.
        fail(log, error)
        raise
    end_offset = log.log_end_offset
    log.log_start_offset = min(log.log_start_offset, end_offset)
    log.high_watermark = min(log.high_watermark, end_offset)
    log.recovery_point = min(log.recovery_point, end_offset)
    log.last_stable_offset = log.producer_states.first_unstable_offset(log.high_watermark)
    log.notify()


def _cut_files(log: SegmentedLog, offset: int) -> None:
    """On the medium when it is done: a crash must not mix what was cut with what follows."""
    kept = [segment for segment in log.segments if segment.base_offset < offset]
    gone = [segment for segment in log.segments if segment.base_offset >= offset]
    log.segments = kept
    discard_segments(log, gone)
    if kept:
        log.active = kept[-1]
        log.active.load()
        log.active.truncate_to(offset)
        log.active.set_limits(log.config)
        log.log_end_offset = log.active.next_offset
    else:
        log.restart_at(offset)
        log.log_end_offset = offset
    log.active.handle.open().sync()
    log.environment.disk.sync_directory(log.directory)
    log.epochs.truncate_from_end(log.log_end_offset)
    log.snapshots.remove_after(log.log_end_offset)
    log.reload_producers()
