"""From what the options say about start and end to an offset for each partition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.pipeline.source.bounds import (
    EARLIEST,
    LATEST,
    AtOffsets,
    AtOneTimestamp,
    AtTimestamps,
    Bound,
    Everywhere,
)
from headrace.pipeline.source.errors import InvalidSourceOption, NoOffsetAtTimestamp
from headrace.pipeline.source.positions import Positions, named

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from headrace.model.topic import TopicPartition
    from headrace.pipeline.source.questions import Questions


def starting_positions(
    bound: Bound,
    partitions: Sequence[TopicPartition],
    questions: Questions,
    *,
    is_latest_if_none_newer: bool,
) -> Positions:
    """Where to begin. A timestamp that is newer than every record is an error, unless the latest
    offset is to be taken for it.
    """
    found = _positions(bound, partitions, questions, "starting")
    without = [partition for partition, offset in found.items() if offset is None]
    if without and not is_latest_if_none_newer:
        raise NoOffsetAtTimestamp(
            f"no record is as new as the starting timestamp in {named(without)}; with the option "
            "startingOffsetsByTimestampStrategy=latest reading begins at the end"
        )
    return _filled(found, questions)


def ending_positions(
    bound: Bound, partitions: Sequence[TopicPartition], questions: Questions
) -> Positions:
    """Where to end, exclusive. A timestamp that is newer than every record means the end."""
    return _filled(_positions(bound, partitions, questions, "ending"), questions)


def _positions(
    bound: Bound, partitions: Sequence[TopicPartition], questions: Questions, word: str
) -> dict[TopicPartition, int | None]:
    if isinstance(bound, Everywhere):
        known = dict.fromkeys(partitions, bound.offset)
        return dict(_without_words(known, questions))
    if isinstance(bound, AtOffsets):
        _raise_if_not_same(bound.offsets, partitions, f"{word}Offsets")
        return dict(_without_words(bound.offsets, questions))
    if isinstance(bound, AtTimestamps):
        _raise_if_not_same(bound.timestamps, partitions, f"{word}OffsetsByTimestamp")
        return questions.at_time(bound.timestamps)
    assert isinstance(bound, AtOneTimestamp)
    return questions.at_time(dict.fromkeys(partitions, bound.timestamp_ms))


def _without_words(offsets: Positions, questions: Questions) -> Positions:
    """-1 and -2 replaced by what they stand for."""
    latest = [partition for partition, offset in offsets.items() if offset == LATEST]
    earliest = [partition for partition, offset in offsets.items() if offset == EARLIEST]
    return {
        **offsets,
        **(questions.latest(latest) if latest else {}),
        **(questions.earliest(earliest) if earliest else {}),
    }


def _filled(found: dict[TopicPartition, int | None], questions: Questions) -> Positions:
    without = [partition for partition, offset in found.items() if offset is None]
    latest = questions.latest(without) if without else {}
    return {
        partition: latest[partition] if offset is None else offset
        for partition, offset in found.items()
    }


def _raise_if_not_same(
    given: Collection[TopicPartition], partitions: Collection[TopicPartition], option: str
) -> None:
    missing = set(partitions) - set(given)
    unknown = set(given) - set(partitions)
    problems = [
        *([f"lacks {named(missing)}"] if missing else []),
        *([f"names {named(unknown)}, which the query does not read"] if unknown else []),
    ]
    if problems:
        raise InvalidSourceOption(
            f"option {option} must name every partition that is read, and no other (-1 for latest, "
            f"-2 for earliest): it {' and '.join(problems)}"
        )
