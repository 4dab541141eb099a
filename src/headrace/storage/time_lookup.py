"""Finding records by time: the first one not older than a timestamp, and the youngest one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.model.errors import DamagedLog
from headrace.records.decode import decode_records
from headrace.records.header import crc_is_valid
from headrace.storage.batch_walk import walk_batches

if TYPE_CHECKING:
    from headrace.environment.ports import Buffer
    from headrace.storage.batch_walk import RawHeader
    from headrace.storage.log import SegmentedLog
    from headrace.storage.segment import Segment


def offset_for_timestamp(log: SegmentedLog, timestamp_ms: int) -> tuple[int, int] | None:
    """(timestamp, offset) of the first visible record at or after ``timestamp_ms``."""
    log.load_active()
    for segment in log.segments:
        segment.load()
        if segment.max_timestamp_ms < timestamp_ms:
            continue
        found = _first_in_segment(log, segment, timestamp_ms)
        if found is not None:
            return found
    return None


def _first_in_segment(
    log: SegmentedLog, segment: Segment, timestamp_ms: int
) -> tuple[int, int] | None:
    start_offset = max(segment.time_index.offset_before(timestamp_ms), log.log_start_offset)
    position = segment.position_before(start_offset)
    for place, header, batch in walk_batches(segment.handle.open(), position, segment.size_bytes):
        if header[0] >= log.high_watermark:
            return None
        if header[8] < timestamp_ms:
            continue
        raise_if_damaged(segment, place, header, batch)
        for record in decode_records(batch, size_max=log.environment.decompressed_bytes_max):
            if record.timestamp_ms >= timestamp_ms and record.offset >= log.log_start_offset:
                return record.timestamp_ms, record.offset
    return None


def offset_of_max_timestamp(log: SegmentedLog) -> tuple[int, int] | None:
    """(timestamp, offset) of the first record that has the log's greatest timestamp."""
    log.load_active()
    for segment in log.segments:
        segment.load()
    youngest = max(log.segments, key=lambda segment: segment.max_timestamp_ms)
    if youngest.max_timestamp_ms < 0:
        return None
    place = youngest.find(youngest.max_timestamp_offset)
    if place is None:
        return None
    file = youngest.handle.open()
    for position, header, batch in walk_batches(file, place.position, youngest.size_bytes):
        raise_if_damaged(youngest, position, header, batch)
        for record in decode_records(batch, size_max=log.environment.decompressed_bytes_max):
            if record.timestamp_ms >= youngest.max_timestamp_ms:
                return record.timestamp_ms, record.offset
    return None


def raise_if_damaged(segment: Segment, position: int, header: RawHeader, batch: Buffer) -> None:
    """Never take a record out of a batch whose checksum is wrong."""
    if not crc_is_valid(batch, 0, len(batch)):
        raise DamagedLog(
            f"{segment.path}: checksum of the batch at byte {position}"
            f" (offset {header[0]}) is wrong"
        )
