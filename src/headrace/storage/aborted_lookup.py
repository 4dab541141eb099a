"""Which aborted transactions a reader of committed records has to be told of.

Telling too many is legal and costs bytes; leaving one out shows aborted records. So the end of what
was read need not be known to the offset: any bound at or above it will do, if it can be trusted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.storage.transaction_index import aborted_between

if TYPE_CHECKING:
    from headrace.storage.log import SegmentedLog
    from headrace.storage.log_slice import LogSlice


def aborted_transactions(log: SegmentedLog, offset: int, end_offset: int) -> list[tuple[int, int]]:
    """(producer, first offset) of aborted transactions that touch ``[offset, end_offset)``."""
    segments = log.segments[log.segment_number(offset) :]
    return aborted_between((each.transaction_index for each in segments), offset, end_offset)


def aborted_in(
    log: SegmentedLog, records: LogSlice, offset: int, end_offset: int
) -> list[tuple[int, int]]:
    """The same for what a read from ``offset`` has given, all of it below ``end_offset``."""
    segments = log.segments[log.segment_number(offset) :]
    if not any(each.transaction_index.has_from(offset) for each in segments):
        return []
    segment = log.segments[log.segment_number(records.first_offset)]
    bound = segment.offset_bound(records.position + len(records), records.first_offset)
    return aborted_transactions(log, offset, min(end_offset, bound))
