"""What a task is told and what it answers, and how ranges are shared among tasks. Plain values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headrace.pipeline.parquet.file_options import ROW_GROUP_ROWS
from headrace.pipeline.source.splitting import split_ranges

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from headrace.model.errors import HeadraceError
    from headrace.pipeline.decoding.spec import DecoderSpec
    from headrace.pipeline.ranges import OffsetRange
    from headrace.pipeline.read_settings import ReadSettings
    from headrace.pipeline.tables.file_layout import FileLayout

SAMPLE_RECORDS = 10_000
"""Of each range, to learn the first fields; later ones are found as they come."""
SAMPLE_RANGES = 64


@dataclass(frozen=True)
class TaskWork:
    """Ranges for one task."""

    ranges: tuple[OffsetRange, ...]
    read: ReadSettings
    spec: DecoderSpec
    layout: FileLayout
    schema: pa.Schema
    """Of the rows."""
    is_sample: bool = False
    """Write nothing, only look which fields there are."""


@dataclass(frozen=True)
class TaskResult:
    """Files as JSON; or what stands in the way of writing them."""

    files: tuple[str, ...] = ()
    parked: tuple[str, ...] = ()
    new_fields: pa.Schema | None = None
    """Fields that the table lacks: nothing was written, the work has to be done again."""
    failure: HeadraceError | None = field(default=None)


def share_out(
    ranges: Sequence[OffsetRange], slots: int, records_per_file: int
) -> list[tuple[OffsetRange, ...]]:
    """Ranges for each task: every slot has something to do where there is enough for it, a file
    does not grow beyond its target, and what is small goes into one file together.
    """
    total = sum(one.end - one.start for one in ranges)
    share = min(records_per_file, max(ROW_GROUP_ROWS, -(-total // max(1, slots))))
    tasks: list[tuple[OffsetRange, ...]] = []
    room = 0
    for piece in split_ranges(ranges, None, share):
        size = piece.end - piece.start
        if size > room:
            tasks.append(())
            room = share
        tasks[-1] = (*tasks[-1], piece)
        room -= size
    return tasks


def halves(ranges: Sequence[OffsetRange]) -> tuple[tuple[OffsetRange, ...], ...]:
    """The same offsets in two parts."""
    if len(ranges) > 1:
        middle = len(ranges) // 2
        return tuple(ranges[:middle]), tuple(ranges[middle:])
    (only,) = ranges
    cut = (only.start + only.end) // 2
    return (only._replace(end=cut),), (only._replace(start=cut),)


def samples_of(ranges: Sequence[OffsetRange]) -> list[OffsetRange]:
    """The beginning of each range, of so many ranges, the largest first."""
    largest = sorted(ranges, key=lambda one: one.start - one.end)[:SAMPLE_RANGES]
    return [one._replace(end=min(one.end, one.start + SAMPLE_RECORDS)) for one in largest]
