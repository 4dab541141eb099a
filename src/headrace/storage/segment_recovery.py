"""Reading a segment again from a given place: every checksum verified, every index written anew.

The scan stops at the first byte that is not a whole, valid batch in its right place. What lies
before is kept; the caller decides what becomes of the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headrace.model.errors import CorruptRecord, DamagedLog, InvalidRecord
from headrace.records.header import HEADER, HEADER_SIZE, LENGTH_OVERHEAD, MAGIC, crc_is_valid
from headrace.storage.batch_walk import walk_batches, walk_headers
from headrace.storage.log_port import NO_TIMESTAMP
from headrace.storage.producer_snapshots import replay_batch

if TYPE_CHECKING:
    from headrace.environment.ports import Buffer, DiskFile
    from headrace.storage.batch_walk import RawHeader
    from headrace.storage.log import SegmentedLog
    from headrace.storage.segment import Segment

LENGTH_PLAUSIBLE_MAX = 128 * 1024 * 1024


class ScanResult(NamedTuple):
    """The segment is good up to ``valid_bytes``; ``fault`` says what follows, if anything does."""

    start_position: int
    valid_bytes: int
    file_bytes: int
    fault: str
    is_torn_tail: bool


def scan_segment(
    log: SegmentedLog, segment: Segment, start_position: int, offset_limit: int | None = None
) -> ScanResult:
    """Verify from ``start_position`` on; indexes, epochs and producers are brought up to the end.

    ``offset_limit`` is where the next segment begins; None for the last one.

    The indexes must hold nothing beyond ``start_position``, and the producers' state must be that
    of the batch there.
    """
    file = segment.handle.open()
    file_bytes = file.size()
    segment.size_bytes = start_position
    fault = ""
    try:
        for position, header, batch in walk_batches(file, start_position, file_bytes):
            fault = _fault_of(header, batch, segment)
            if not fault and header[0] > segment.next_offset:
                fault = _hole_fault(file, position + len(batch), header, offset_limit)
            if fault:
                break
            assert position == segment.size_bytes
            _take_over(log, segment, header, batch)
    except DamagedLog as error:
        fault = error.message
    except (CorruptRecord, InvalidRecord) as error:
        fault = f"unreadable control batch: {error.message}"
    valid_bytes = segment.size_bytes
    is_torn = False
    if valid_bytes < file_bytes:
        rest = file.read_at(valid_bytes, HEADER_SIZE)
        is_torn = _is_torn_batch(rest, file_bytes - valid_bytes, segment.next_offset)
        fault = fault or "incomplete batch at the end"
    segment.is_loaded = True
    return ScanResult(start_position, valid_bytes, file_bytes, fault, is_torn)


def _fault_of(header: RawHeader, batch: Buffer, segment: Segment) -> str:
    if header[0] < segment.next_offset:
        return f"offset {header[0]} where at least {segment.next_offset} should be"
    if header[6] < 0 or header[0] + header[6] > segment.offset_max:
        return f"offset {header[0]} with last offset delta {header[6]} does not fit the segment"
    if not crc_is_valid(batch, 0, len(batch)):
        return f"wrong checksum of the batch with offset {header[0]}"
    return ""


def _hole_fault(
    file: DiskFile, next_position: int, header: RawHeader, offset_limit: int | None
) -> str:
    """Offsets are not covered by the checksum, and compaction leaves holes between them.

    A hole is believed if what follows goes on from there; in a log nothing comes before its time.
    """
    end_offset = header[0] + header[6] + 1
    following = file.read_at(next_position, HEADER_SIZE)
    if len(following) == HEADER_SIZE:
        next_offset: int | None = HEADER.unpack(following)[0]
    else:
        next_offset = offset_limit
    if next_offset is None or next_offset < end_offset:
        return f"offset {header[0]} does not fit to what is before and after it"
    return ""


def _take_over(log: SegmentedLog, segment: Segment, header: RawHeader, batch: Buffer) -> None:
    completed = replay_batch(log.producer_states, header, batch)
    if completed is not None:
        log.note_completed(segment, completed)
    # The epoch is not covered by the checksum either: none can be newer than the log's own.
    if log.epochs.latest < header[2] <= log.leader_epoch:
        log.epochs.assign(header[2], header[0])
    segment.note_append(header[0], header[0] + header[6], len(batch), header[8])


def _is_torn_batch(rest: bytes, size: int, next_offset: int) -> bool:
    """Whether the end looks like one write that was cut short, and not like damage."""
    if size < HEADER_SIZE or not any(rest):
        return True
    header: RawHeader = HEADER.unpack(rest)
    length = header[1] + LENGTH_OVERHEAD
    return header[0] == next_offset and header[3] == MAGIC and size < length <= LENGTH_PLAUSIBLE_MAX


def rewind_indexes(segment: Segment, offset: int) -> tuple[int, int]:
    """Make the indexes forget ``offset`` and all after it; (offset, position) to go on with."""
    file_bytes = segment.files.disk.size(segment.path)
    relative, start = segment.offset_index.entry_before(offset)
    position, end_offset = start, segment.base_offset if start == 0 else -1
    for place, header in walk_headers(segment.handle.open(), start, file_bytes):
        if place == start > 0 and not 0 <= header[0] - segment.base_offset <= relative:
            raise DamagedLog(f"{_name(segment.path)}: its index leads astray at byte {start}")
        if header[0] + header[6] >= offset:
            position, end_offset = place, min(offset, header[0])
            break
        position, end_offset = place + header[1] + LENGTH_OVERHEAD, header[0] + header[6] + 1
    if end_offset < 0:
        raise DamagedLog(f"{segment.path}: no whole batch at byte {position}")
    offset = end_offset
    segment.offset_index.truncate_to(offset)
    segment.time_index.truncate_to(offset)
    segment.transaction_index.truncate_to(offset)
    segment.size_bytes, segment.next_offset = position, offset
    segment.is_loaded = True
    segment.find_max_timestamp()
    segment.bytes_since_index = 0
    return offset, position


def reset_indexes(segment: Segment) -> None:
    """Begin all indexes anew, whatever their files hold."""
    disk = segment.files.disk
    indexes = (segment.offset_index, segment.time_index, segment.transaction_index)
    for index in indexes:
        index.handle.close()
        if disk.exists(index.handle.path):
            disk.remove(index.handle.path)
    segment.start_empty()
    segment.is_loaded = False
    segment.handle.creates = False
    segment.transaction_index.forget()
    segment.time_index.forget()
    segment.max_timestamp_ms, segment.max_timestamp_offset = NO_TIMESTAMP, segment.base_offset
    segment.bytes_since_index = 0


def index_fault(segment: Segment, next_offset: int) -> str | None:
    """Why the indexes of a segment cannot be trusted, or None."""
    disk = segment.files.disk
    for index in (segment.offset_index, segment.time_index):
        if not disk.exists(index.handle.path):
            return f"{_name(index.handle.path)} is missing"
        if disk.size(index.handle.path) % index.entry_size:
            return f"{_name(index.handle.path)} has a partial entry"
    fault = (
        segment.offset_index.fault(disk.size(segment.path))
        or segment.time_index.fault()
        or segment.transaction_index.fault(next_offset)
    )
    return f"indexes of segment {segment.base_offset}: {fault}" if fault else None


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1]
