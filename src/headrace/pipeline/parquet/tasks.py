"""What a task is told and what it answers, and how ranges are shared among tasks. Plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.pipeline.tables.file_options import ROW_GROUP_ROWS

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
    failure: HeadraceError | None = None


def share_out(
    ranges: Sequence[OffsetRange], slots: int, records_per_file: int
) -> list[tuple[OffsetRange, ...]]:
    """Ranges for each task, the same number of records for all: every slot has something to do
    where there is enough for it, no file grows beyond its target, and what is small goes into one.
    """
    total = sum(one.end - one.start for one in ranges)
    rounds = -(-total // (records_per_file * slots))
    count = min(rounds * slots, -(-total // ROW_GROUP_ROWS))
    size = -(-total // max(1, count))
    tasks: list[tuple[OffsetRange, ...]] = []
    room = 0
    for range_ in ranges:
        start = range_.start
        while start < range_.end:
            if not room:
                tasks.append(())
                room = size
            end = min(range_.end, start + room)
            tasks[-1] += (range_._replace(start=start, end=end),)
            room -= end - start
            start = end
    return tasks


def samples_of(ranges: Sequence[OffsetRange]) -> list[OffsetRange]:
    """The beginning of each range, of so many ranges, the largest first."""
    largest = sorted(ranges, key=lambda one: one.start - one.end)[:SAMPLE_RANGES]
    return [one._replace(end=min(one.end, one.start + SAMPLE_RECORDS)) for one in largest]
