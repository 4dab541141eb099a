"""What a batch query reads: one range per partition, fixed when the query is planned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.pipeline.errors import OffsetsOutOfRange
from headrace.pipeline.ranges import OffsetRange
from headrace.pipeline.source.splitting import split_ranges
from headrace.pipeline.source.starting import ending_positions, starting_positions

if TYPE_CHECKING:
    from headrace.pipeline.source.options import SourceOptions
    from headrace.pipeline.source.positions import Positions
    from headrace.pipeline.source.questions import Questions


def plan_batch(options: SourceOptions, questions: Questions) -> list[OffsetRange]:
    """OffsetsOutOfRange if a start lies after its end; DataLoss if records are gone."""
    partitions = questions.selected()
    start = starting_positions(
        options.starting,
        partitions,
        questions,
        is_latest_if_none_newer=options.is_latest_if_none_newer,
    )
    end = ending_positions(options.ending, partitions, questions)
    _raise_if_reversed(start, end)
    ranges = _what_is_there(start, end, questions)
    return split_ranges(ranges, options.min_partitions, options.max_records_per_partition)


def _raise_if_reversed(start: Positions, end: Positions) -> None:
    for partition, offset in sorted(start.items()):
        if offset > end[partition]:
            raise OffsetsOutOfRange(
                f"reading {partition} would begin at offset {offset} and end at {end[partition]}: "
                "the start lies after the end of the log, or after the end that was given"
            )


def _what_is_there(start: Positions, end: Positions, questions: Questions) -> list[OffsetRange]:
    partitions = sorted(start)
    earliest = questions.earliest(partitions)
    latest = questions.latest(partitions)
    ranges = []
    for partition in partitions:
        first, last = start[partition], end[partition]
        if first < min(earliest[partition], last):
            gone = min(earliest[partition], last)
            questions.admit_loss(partition, first, gone, "the log begins later")
            first = gone
        if last > max(latest[partition], first):
            there = max(latest[partition], first)
            questions.admit_loss(partition, there, last, "the log ends before")
            last = there
        ranges.append(OffsetRange(partition.topic, partition.partition, first, last))
    return ranges
