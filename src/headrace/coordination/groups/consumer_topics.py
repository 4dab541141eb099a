"""The topics as consumer groups see them: name, id and number of partitions.

Whoever owns the metadata tells the catalogue of each change; groups notice by its version at their
next heartbeat. One catalogue serves all shards.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from headrace.model.topic import TopicId

HASH_BYTES = 8


class CatalogueTopic(NamedTuple):
    name: str
    topic_id: TopicId
    partition_count: int


class TopicCatalogue:
    """Mutable, but only through the three verbs below."""

    __slots__ = ("_by_id", "_by_name", "version")

    def __init__(self) -> None:
        self.version = 0
        """Grows with every change that a group could care for."""
        self._by_name: dict[str, CatalogueTopic] = {}
        self._by_id: dict[TopicId, CatalogueTopic] = {}

    def put(self, name: str, topic_id: TopicId, partition_count: int) -> None:
        """A topic was created, created anew, or has grown."""
        topic = CatalogueTopic(name, topic_id, partition_count)
        if self._by_name.get(name) == topic:
            return
        self._forget(name)
        self._by_name[name] = topic
        self._by_id[topic_id] = topic
        self.version += 1

    def remove(self, name: str) -> None:
        if self._forget(name):
            self.version += 1

    def topics_changed(self, topics: Mapping[str, tuple[TopicId, int]]) -> None:
        """All topics there are now, by name: (id, number of partitions)."""
        for name in self._by_name.keys() - topics.keys():
            self.remove(name)
        for name, (topic_id, partition_count) in topics.items():
            self.put(name, topic_id, partition_count)

    def names(self) -> Iterable[str]:
        return self._by_name

    def topic(self, name: str) -> CatalogueTopic | None:
        return self._by_name.get(name)

    def topic_by_id(self, topic_id: TopicId) -> CatalogueTopic | None:
        return self._by_id.get(topic_id)

    def ids(self, names: Iterable[str]) -> frozenset[TopicId]:
        """The ids of those names that exist."""
        by_name = self._by_name
        return frozenset(by_name[name].topic_id for name in names if name in by_name)

    def partition_counts(self, topic_ids: Iterable[TopicId]) -> dict[TopicId, int]:
        by_id = self._by_id
        return {topic_id: by_id[topic_id].partition_count for topic_id in topic_ids}

    def metadata_hash(self, names: Iterable[str]) -> int:
        """A signed 64-bit digest of the named topics that exist; 0 without any.

        It is stored with the group epoch (KIP-1101): a changed digest asks for a new assignment.
        """
        topics = [self._by_name[name] for name in sorted(names) if name in self._by_name]
        if not topics:
            return 0
        digest = blake2b(digest_size=HASH_BYTES)
        for name, topic_id, partition_count in topics:
            digest.update(topic_id + partition_count.to_bytes(4, "big") + name.encode() + b"\0")
        return int.from_bytes(digest.digest(), "big", signed=True)

    def _forget(self, name: str) -> bool:
        topic = self._by_name.pop(name, None)
        if topic is None:
            return False
        del self._by_id[topic.topic_id]
        return True
