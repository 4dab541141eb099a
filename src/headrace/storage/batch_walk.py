"""Walking the batches of a log file by their headers, in reads of bounded size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.model.errors import DamagedLog
from headrace.records.header import HEADER, HEADER_SIZE, LENGTH_MIN, LENGTH_OVERHEAD, MAGIC

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.environment.ports import DiskFile

LOOKUP_CHUNK_BYTES = 8 * 1024
"""About two index intervals: a look-up by offset mostly needs one such read."""
SCAN_CHUNK_BYTES = 1024 * 1024

RawHeader = tuple[int, int, int, int, int, int, int, int, int, int, int, int, int]
"""The thirteen header fields as ``HEADER`` unpacks them: no names, for speed."""


def walk_headers(
    file: DiskFile, position: int, end: int, chunk_bytes: int = LOOKUP_CHUNK_BYTES
) -> Iterator[tuple[int, RawHeader]]:
    """Each batch from ``position`` on that lies wholly before ``end``, as (position, header).

    Bodies are skipped, not read, and checksums not verified. DamagedLog where no header can be.
    """
    chunk, chunk_start = b"", position
    while position + HEADER_SIZE <= end:
        inside = position - chunk_start
        if inside + HEADER_SIZE > len(chunk):
            chunk = file.read_at(position, min(chunk_bytes, end - position))
            chunk_start, inside = position, 0
            if len(chunk) < HEADER_SIZE:
                return
        header: RawHeader = HEADER.unpack_from(chunk, inside)
        if header[1] < LENGTH_MIN or header[3] != MAGIC:
            _raise_damaged(file.path, position, header)
        next_position = position + header[1] + LENGTH_OVERHEAD
        if next_position > end:
            return
        yield position, header
        position = next_position


def walk_batches(
    file: DiskFile, position: int, end: int
) -> Iterator[tuple[int, RawHeader, memoryview]]:
    """As ``walk_headers``, with the bytes of each batch; a view is valid until the next step."""
    chunk, chunk_start = b"", position
    while position + HEADER_SIZE <= end:
        inside = position - chunk_start
        if inside + HEADER_SIZE > len(chunk):
            chunk = file.read_at(position, min(SCAN_CHUNK_BYTES, end - position))
            chunk_start, inside = position, 0
            if len(chunk) < HEADER_SIZE:
                return
        header: RawHeader = HEADER.unpack_from(chunk, inside)
        if header[1] < LENGTH_MIN or header[3] != MAGIC:
            _raise_damaged(file.path, position, header)
        size = header[1] + LENGTH_OVERHEAD
        if position + size > end:
            return
        if inside + size > len(chunk):
            chunk = file.read_at(position, max(size, min(SCAN_CHUNK_BYTES, end - position)))
            chunk_start, inside = position, 0
            if len(chunk) < size:
                return
        yield position, header, memoryview(chunk)[inside : inside + size]
        position += size


def _raise_damaged(path: str, position: int, header: RawHeader) -> None:
    raise DamagedLog(f"{path}: no batch at byte {position} (length {header[1]}, magic {header[3]})")
