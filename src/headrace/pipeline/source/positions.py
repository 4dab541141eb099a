"""Positions of many partitions: the next offset to read of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.model.topic import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Positions = dict[TopicPartition, int]

PARTITIONS_NAMED_MAX = 5  # in the text of an error


def flatten(partitions: Mapping[str, Iterable[int]]) -> list[TopicPartition]:
    """In order."""
    return sorted(
        TopicPartition(topic, partition)
        for topic, numbers in partitions.items()
        for partition in numbers
    )


def named(partitions: Iterable[TopicPartition]) -> str:
    """For a message: the first few, and how many more."""
    ordered = sorted(partitions)
    text = ", ".join(str(partition) for partition in ordered[:PARTITIONS_NAMED_MAX])
    more = len(ordered) - PARTITIONS_NAMED_MAX
    return f"{text} and {more} more" if more > 0 else text
