"""What the broker says right after a restart, asked on a fresh connection: ends and commits.

The client libraries have caches and patience; a check wants neither.
"""

from __future__ import annotations

import time
from collections import defaultdict
from typing import TYPE_CHECKING

from headrace.codecs.kafka.generated.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from headrace.codecs.kafka.generated.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
)
from headrace.testing.history import Fault
from tests.wire.raw_client import RawClient

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headrace.testing.history import History

    from .retention_bounds import RetentionBounds

LIST_OFFSETS, LIST_OFFSETS_VERSION = 2, 5
OFFSET_FETCH, OFFSET_FETCH_VERSION = 9, 8
EARLIEST, LATEST = -2, -1

Place = tuple[str, int]


class Questions:
    """Asks, and tells the history what was answered."""

    def __init__(self, bootstrap_servers: str, history: History, bounds: RetentionBounds) -> None:
        self._port = int(bootstrap_servers.rsplit(":", 1)[1])
        self._history = history
        self._bounds = bounds

    def check_ends(self) -> None:
        """Where every log starts and ends. A topic that is forgotten meanwhile is not asked about:
        whoever deletes it lets the history forget it first."""
        partitions = dict(self._history.partitions)
        floors = {place: partition.expect() for place, partition in partitions.items()}
        asked_at_s = time.monotonic()
        with RawClient(self._port) as client:
            low = list_offsets(client, partitions, EARLIEST)
            high = list_offsets(client, partitions, LATEST)
        for place, partition in partitions.items():
            if place not in self._history.partitions:
                continue
            if place not in low or place not in high:
                detail = "the broker does not know this partition"
                self._history.violations.add(Fault.METADATA_LOST, partition.where, detail)
            else:
                self._bounds.note(place, asked_at_s, high[place])
                partition.observe(low[place], high[place], floors[place])

    def check_commits(self) -> None:
        """What every group has committed."""
        groups = dict(self._history.groups)
        promised = {name: group.promises() for name, group in groups.items()}
        with RawClient(self._port) as client:
            answered = fetch_offsets(client, groups)
        left = dict(self._history.partitions)
        for name, group in groups.items():
            if name in self._history.groups:
                group.observe(
                    {p: o for p, o in promised[name].items() if (p.topic, p.partition) in left},
                    {left[place]: o for place, o in answered[name].items() if place in left},
                )


def list_offsets(client: RawClient, places: Iterable[Place], timestamp: int) -> dict[Place, int]:
    """No entry for a partition that the broker does not know."""
    partitions: defaultdict[str, list[ListOffsetsPartition]] = defaultdict(list)
    for topic, partition in places:
        partitions[topic].append(
            ListOffsetsPartition(partition_index=partition, timestamp=timestamp)
        )
    topics = [ListOffsetsTopic(name=name, partitions=found) for name, found in partitions.items()]
    request = ListOffsetsRequest(replica_id=-1, topics=topics)
    answer = client.call(LIST_OFFSETS, LIST_OFFSETS_VERSION, request)
    return {
        (topic.name, entry.partition_index): entry.offset
        for topic in answer.topics
        for entry in topic.partitions
        if entry.error_code == 0
    }


def fetch_offsets(client: RawClient, groups: Iterable[str]) -> dict[str, dict[Place, int]]:
    """No entry for what has no commit."""
    wanted = [OffsetFetchRequestGroup(group_id=name, topics=None) for name in groups]
    answer = client.call(OFFSET_FETCH, OFFSET_FETCH_VERSION, OffsetFetchRequest(groups=wanted))
    return {
        group.group_id: {
            (topic.name, entry.partition_index): entry.committed_offset
            for topic in group.topics
            for entry in topic.partitions
            if entry.committed_offset >= 0
        }
        for group in answer.groups
    }
