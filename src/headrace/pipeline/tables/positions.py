"""Position maps: where a job stands in each partition.

In memory partitions are numbers; in JSON, as in Spark's own offset files, they are texts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from headrace.pipeline.ranges import PositionMap


def normal(positions: Mapping[str, Mapping[Any, int]]) -> PositionMap:
    """The same map with numbers for partitions, whatever it was read from."""
    return {
        topic: {int(partition): int(offset) for partition, offset in sorted(offsets.items())}
        for topic, offsets in sorted(positions.items())
    }


def furthest(maps: Iterable[PositionMap]) -> PositionMap:
    """For each partition the furthest of the given positions."""
    result: PositionMap = {}
    for positions in maps:
        for topic, offsets in positions.items():
            known = result.setdefault(topic, {})
            for partition, offset in offsets.items():
                known[partition] = max(offset, known.get(partition, 0))
    return result


def beyond(positions: PositionMap, other: PositionMap) -> list[str]:
    """Partitions, as ``topic-partition``, in which the first map is further than the second."""
    return [
        f"{topic}-{partition}"
        for topic, offsets in positions.items()
        for partition, offset in offsets.items()
        if offset > other.get(topic, {}).get(partition, 0)
    ]
