"""Bringing one log back after a stop that was not clean.

Segments from the recovery point on are read again. Torn tails are cut; where there is damage with
more behind it, the log is cut there as well, because offsets must have no hole, but the bytes that
were cut stay beside it in files ending in ``.cut``. Everything done is said in the ``LogRecovery``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.model.errors import CorruptRecord, DamagedLog, InvalidRecord
from headrace.storage.file_names import (
    CLEANED_SUFFIX,
    CUT_SUFFIX,
    DELETED_SUFFIX,
    INDEX_SUFFIXES,
    LOG_SUFFIX,
    SNAPSHOT_SUFFIX,
    SWAP_SUFFIX,
    SYNC_FAILED,
    offset_of,
    offsets_with,
)
from headrace.storage.log import LogState, SegmentedLog
from headrace.storage.recovery_report import LogRecovery
from headrace.storage.segment_recovery import (
    ScanResult,
    index_fault,
    reset_indexes,
    rewind_indexes,
    scan_segment,
)
from headrace.storage.swap_files import finish_swaps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.environment.ports import Disk
    from headrace.storage.log_environment import LogEnvironment
    from headrace.storage.log_port import LogSpec
    from headrace.storage.segment import Segment

_COPY_CHUNK_BYTES = 1024 * 1024


def recover_log(
    environment: LogEnvironment,
    directory: str,
    spec: LogSpec,
    recovery_point: int,
    log_start_offset: int,
    holes_end: int = 0,
) -> tuple[SegmentedLog, LogRecovery]:
    """Open a log whose files may be in any state; below ``holes_end`` offsets may be missing."""
    recovery = LogRecovery(spec.partition)
    names = _tidy_directory(environment.disk, directory, recovery)
    bases = offsets_with(names, LOG_SUFFIX)
    first_base = bases[0] if bases else log_start_offset
    state = LogState(
        bases or (first_base,),
        offsets_with(names, SNAPSHOT_SUFFIX),
        max(log_start_offset, first_base),
        first_base,
        first_base,
        0,
    )
    log = SegmentedLog(environment, directory, *spec, state)
    if bases:
        _recover_segments(log, recovery_point, recovery, holes_end)
    if SYNC_FAILED in names:
        _write_again(log, recovery_point, recovery)
    _settle(log, min(recovery_point, log.log_end_offset), recovery)
    return log, recovery


def _tidy_directory(disk: Disk, directory: str, recovery: LogRecovery) -> list[str]:
    """Finish or undo what was interrupted; the names that are left."""
    names = disk.list(directory)
    if any(name.endswith((DELETED_SUFFIX, CLEANED_SUFFIX, SWAP_SUFFIX)) for name in names):
        finish_swaps(disk, directory, names, recovery)
        names = disk.list(directory)
    logs = set(offsets_with(names, LOG_SUFFIX))
    for name in names:
        if name.endswith(INDEX_SUFFIXES) and offset_of(name) not in logs:
            disk.remove(f"{directory}/{name}")
            recovery.note(f"removed {name}: it has no log file")
    return disk.list(directory)


def _recover_segments(
    log: SegmentedLog, recovery_point: int, recovery: LogRecovery, holes_end: int
) -> None:
    """Scan what is not known to be on the medium; afterwards the log ends where it is sound."""
    first = log.segment_number(recovery_point)
    for number, segment in enumerate(log.segments[:first]):
        _mend_indexes(log, segment, log.segments[number + 1].base_offset, recovery)
    start_offset, position = _scan_start(log, log.segments[first], recovery_point, recovery)
    known = log.segments[: first + 1 if position else first]
    _load_producers(log, known, start_offset, recovery)
    end_offset = start_offset
    for number in range(first, len(log.segments)):
        segment = log.segments[number]
        if number > first and _is_out_of_place(segment, end_offset, holes_end, recovery):
            _set_aside(log, number, recovery)
            break
        if number > first:
            reset_indexes(segment)
            position, end_offset = 0, segment.base_offset
        segment.next_offset = end_offset
        following = log.segments[number + 1 :]
        limit = following[0].base_offset if following else None
        result = scan_segment(log, segment, position, limit)
        end_offset = segment.next_offset
        recovery.scanned_bytes += result.valid_bytes - result.start_position
        if result.valid_bytes < result.file_bytes:
            _cut(log, number, result, recovery)
            break
    _finish_segments(log, end_offset)


def _is_out_of_place(
    segment: Segment, end_offset: int, holes_end: int, recovery: LogRecovery
) -> bool:
    """Whether a segment cannot follow a log that ends at ``end_offset``.

    Compaction leaves holes between segments, up to ``holes_end``. Any other hole is a loss: power
    failed, and of two segments that were not flushed the later one is there. Under fsync each hole
    is one, and the write-ahead log fills it with what was promised.
    """
    if segment.base_offset < end_offset:
        recovery.note(f"segment {segment.base_offset} overlaps the one before")
        return True
    if segment.base_offset > max(end_offset, holes_end):
        recovery.note(f"offsets {end_offset} to {segment.base_offset - 1} are missing")
        return True
    return False


def _scan_start(
    log: SegmentedLog, segment: Segment, recovery_point: int, recovery: LogRecovery
) -> tuple[int, int]:
    """(offset, position) to scan from: the recovery point if the indexes lead there safely."""
    if recovery_point > segment.base_offset:
        fault = index_fault(segment, segment.offset_max)
        if fault is None:
            try:
                return rewind_indexes(segment, recovery_point)
            except DamagedLog as error:
                fault = error.message
        recovery.note(f"{fault}; rebuilt")
    reset_indexes(segment)
    return segment.base_offset, 0


def _load_producers(
    log: SegmentedLog, segments: Sequence[Segment], end_offset: int, recovery: LogRecovery
) -> None:
    """The producers' state before ``end_offset``, as far as the segments can be read."""
    log.producer_states.clear()
    try:
        log.snapshots.load(log.producer_states, segments, end_offset)
    except (DamagedLog, CorruptRecord, InvalidRecord) as error:
        recovery.note(f"what producers wrote before offset {end_offset} is not known: {error}")


def _mend_indexes(
    log: SegmentedLog, segment: Segment, next_base: int, recovery: LogRecovery
) -> None:
    """A segment below the recovery point is not read again unless its indexes are unusable."""
    fault = index_fault(segment, next_base)
    if fault is None:
        return
    before = [other for other in log.segments if other.base_offset < segment.base_offset]
    _load_producers(log, before, segment.base_offset, recovery)
    reset_indexes(segment)
    segment.next_offset = segment.base_offset
    result = scan_segment(log, segment, 0, next_base)
    recovery.scanned_bytes += result.valid_bytes
    segment.finish()
    recovery.note(f"{fault}; rebuilt")
    if result.fault:
        # It stays as it is: what was promised long ago is not cut off because of what lies before.
        segment.size_bytes, segment.next_offset = result.file_bytes, next_base
        recovery.note(
            f"segment {segment.base_offset} is damaged at byte {result.valid_bytes}"
            f" ({result.fault}); the records behind it, up to offset {next_base - 1}, may be"
            " unreadable"
        )


def _cut(log: SegmentedLog, number: int, result: ScanResult, recovery: LogRecovery) -> None:
    """End the log at the first fault. What is more than a torn write is kept aside."""
    segment = log.segments[number]
    lost = result.file_bytes - result.valid_bytes
    recovery.cut_bytes += lost
    what = f"segment {segment.base_offset} at byte {result.valid_bytes} of {result.file_bytes}"
    is_last = number == len(log.segments) - 1
    if result.is_torn_tail and is_last:
        recovery.note(f"cut a torn write of {lost} bytes off {what}: {result.fault}")
    else:
        path = f"{segment.path}.from-{result.valid_bytes}{CUT_SUFFIX}"
        _copy(log.environment.disk, segment, result.valid_bytes, path)
        recovery.note(f"cut {lost} bytes off {what}: {result.fault}; kept in {path}")
    # On the medium before anything new is written there: the next crash must not mix old and new.
    file = segment.handle.open()
    file.truncate(result.valid_bytes)
    file.sync()
    _set_aside(log, number + 1, recovery)


def cut_log(log: SegmentedLog, offset: int, reason: str, recovery: LogRecovery) -> None:
    """End a log that is sound at ``offset``; what follows is kept aside."""
    log.load_active()
    number = log.segment_number(offset)
    segment = log.segments[number]
    segment.load()
    place = segment.find(offset)
    if place is not None:
        size = segment.size_bytes - place.position
        path = f"{segment.path}.from-{place.position}{CUT_SUFFIX}"
        _copy(log.environment.disk, segment, place.position, path)
        recovery.cut_bytes += size
        recovery.note(f"cut {size} bytes from offset {offset} on: {reason}; kept in {path}")
    _set_aside(log, number + 1, recovery)
    log.active = segment
    log.truncate_to(offset)


def _copy(disk: Disk, segment: Segment, position: int, path: str) -> None:
    """Piece by piece: the rest of a segment may be large."""
    source, target = segment.handle.open(), disk.open(path, create=True)
    written = 0
    while data := source.read_at(position + written, _COPY_CHUNK_BYTES):
        target.write_at(written, data)
        written += len(data)
    target.sync()
    target.close()


def _write_again(log: SegmentedLog, recovery_point: int, recovery: LogRecovery) -> None:
    """A sync has failed: the system may show bytes that the medium lacks, and take them for
    written. Only a new write makes the next sync mean something."""
    for segment in log.segments[log.segment_number(recovery_point) :]:
        if not segment.handle.creates:
            file = segment.handle.open()
            position = 0
            while data := file.read_at(position, _COPY_CHUNK_BYTES):
                file.write_at(position, data)
                position += len(data)
            file.sync()
    log.environment.disk.remove(f"{log.directory}/{SYNC_FAILED}")
    recovery.note("a sync had failed: all that is not known to be on the medium was written again")


def _set_aside(log: SegmentedLog, number: int, recovery: LogRecovery) -> None:
    """Take the segments from ``number`` on out of the log; their files stay under another name."""
    disk = log.environment.disk
    gone, log.segments[number:] = log.segments[number:], []
    for segment in gone:
        segment.retire()
        size = disk.size(segment.path)
        recovery.cut_bytes += size
        disk.rename(segment.path, segment.path + CUT_SUFFIX)
        for path in segment.existing_paths():
            disk.remove(path)
        recovery.note(
            f"segment {segment.base_offset} ({size} bytes) lies behind the cut;"
            f" kept in {segment.path}{CUT_SUFFIX}"
        )
    if gone:
        disk.sync_directory(log.directory)


def _finish_segments(log: SegmentedLog, end_offset: int) -> None:
    for segment in log.segments[:-1]:
        if segment.is_loaded:
            segment.finish()
    log.active = log.segments[-1]
    log.log_end_offset = end_offset
    log.prepare_active()


def _settle(log: SegmentedLog, recovery_point: int, recovery: LogRecovery) -> None:
    """Bring offsets, epochs and snapshots in line with what was found."""
    if log.log_end_offset < log.log_start_offset:
        recovery.note(
            f"the log ends at {log.log_end_offset}, before its start {log.log_start_offset}:"
            " begun anew there"
        )
        _set_aside(log, 0, recovery)
        log.restart_at(log.log_start_offset)
        log.log_end_offset = log.log_start_offset
        log.producer_states.clear()
    end_offset = log.log_end_offset
    log.recovery_point = min(recovery_point, end_offset)
    log.high_watermark = end_offset
    log.last_stable_offset = log.producer_states.first_unstable_offset(end_offset)
    log.epochs.truncate_from_end(end_offset)
    log.epochs.truncate_from_start(log.log_start_offset)
    log.snapshots.remove_after(end_offset)
    log.snapshots.remove_strays([segment.base_offset for segment in log.segments], end_offset)
    log.configure(log.config)
