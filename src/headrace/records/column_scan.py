"""The headers of a run of batches, all read at once by compiled code.

Nearly every run is in order: batch follows on batch, each begins where the one before it ended or
later, and all lie within the range. Such a run needs no look at neighbours. Whatever is unusual is
left to ``column_run``, which takes its time.
"""

# As in column_kernel: annotations would be strings that numba does not read.
# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator"
# ruff: noqa: ANN001, ANN202

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import int64, types, uint64

from headrace.records.column_kernel import SOURCE, TABLE, Batch, compiled, part
from headrace.records.column_run import OFFSET_MAX
from headrace.records.header import (
    ATTRIBUTES_POSITION,
    BASE_TIMESTAMP_POSITION,
    CRC_POSITION,
    HEADER_SIZE,
    LAST_OFFSET_DELTA_POSITION,
    LENGTH_MIN,
    LENGTH_OVERHEAD,
    LENGTH_POSITION,
    LOG_APPEND_TIME,
    MAGIC,
    MAGIC_POSITION,
    MAX_TIMESTAMP_POSITION,
    RECORD_COUNT_POSITION,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

UNUSUAL = -1
BATCH_FIELDS = len(Batch._fields)


class ScannedBatch(NamedTuple):
    """A batch whose header is in order; ``records`` is a row of the loop's table."""

    position: int
    end: int
    attributes: int
    crc: int
    last_offset: int
    records: list[int]


@part
def _number(data, position, size):
    """A signed integer of so many bytes, the highest first."""
    value = uint64(0)
    for index in range(uint64(size)):
        value = (value << uint64(8)) | uint64(data[position + uint64(index)])
    missing = uint64(64 - 8 * size)
    return int64(value << missing) >> int64(missing)


@compiled(types.int64(SOURCE, types.int64, types.int64, TABLE))
def _scan(data, lowest_offset, end, table):
    """A line for each batch: the fields of Batch, then attributes and checksum. How many."""
    position, size = uint64(0), uint64(len(data))
    seen_end, count = int64(lowest_offset), 0
    while position < size:
        left = int64(size - position)
        if left < HEADER_SIZE or data[position + uint64(MAGIC_POSITION)] != MAGIC:
            return UNUSUAL
        length = _number(data, position + uint64(LENGTH_POSITION), 4)
        if length < LENGTH_MIN or length + LENGTH_OVERHEAD > left:
            return UNUSUAL
        base_offset = _number(data, position, 8)
        delta = _number(data, position + uint64(LAST_OFFSET_DELTA_POSITION), 4)
        records = _number(data, position + uint64(RECORD_COUNT_POSITION), 4)
        if delta < 0 or records < 0 or base_offset > OFFSET_MAX - 1 - delta:
            return UNUSUAL
        if base_offset < seen_end or base_offset >= end:
            return UNUSUAL
        following = position + uint64(length + LENGTH_OVERHEAD)
        attributes = _number(data, position + uint64(ATTRIBUTES_POSITION), 2)
        line = table[count]
        line[0], line[1] = int64(position) + HEADER_SIZE, int64(following)
        line[2], line[3], line[4] = base_offset, delta, records
        line[5] = _number(data, position + uint64(BASE_TIMESTAMP_POSITION), 8)
        line[6] = _number(data, position + uint64(MAX_TIMESTAMP_POSITION), 8)
        line[7] = int64((attributes & LOG_APPEND_TIME) != 0)
        line[8] = attributes
        line[9] = _number(data, position + uint64(CRC_POSITION), 4) & 0xFFFFFFFF
        position, seen_end = following, base_offset + delta + 1
        count += 1
    return count


def scanned_batches(
    source: NDArray[np.uint8], lowest_offset: int, end: int
) -> list[ScannedBatch] | None:
    """All batches of a run, or None if any of them is out of order."""
    # Memory that nobody writes to costs nothing: there is room for the smallest batches.
    table = np.empty((len(source) // HEADER_SIZE + 1, BATCH_FIELDS + 2), np.int64)
    count = _scan(source, lowest_offset, end, table)
    if count == UNUSUAL:
        return None
    return [
        ScannedBatch(
            line[0] - HEADER_SIZE, line[1], line[8], line[9], line[2] + line[3], line[:BATCH_FIELDS]
        )
        for line in table[:count].tolist()
    ]
