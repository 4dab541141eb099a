"""Positions as the source has them and as tables keep them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.model.topic import TopicPartition

if TYPE_CHECKING:
    from headrace.pipeline.ranges import PositionMap
    from headrace.pipeline.source.positions import Positions


def to_map(positions: Positions) -> PositionMap:
    result: PositionMap = {}
    for partition, offset in sorted(positions.items()):
        result.setdefault(partition.topic, {})[partition.partition] = offset
    return result


def from_map(positions: PositionMap) -> Positions:
    return {
        TopicPartition(topic, int(partition)): offset
        for topic, partitions in positions.items()
        for partition, offset in partitions.items()
    }
