"""The topics of this broker as the running process sees them.

``Topics`` is the look-up that every request goes through, so it is dictionaries and lists and
nothing else. It never decides: ``TopicChanges`` writes a change to the metadata log first and then
calls the ``add``, ``grow``, ``remove`` and ``reconfigure`` below.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from headrace.model.topic import INTERNAL_TOPICS, TopicPartition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from headrace.config.topic import TopicConfig
    from headrace.model.topic import TopicId
    from headrace.storage.log_port import Log


class Role(Enum):
    """What this node is to a partition."""

    LEADER = "leader"
    FOLLOWER = "follower"


class Partition:
    """One partition: its log, and who leads it since when."""

    __slots__ = (
        "alone",
        "index",
        "is_internal",
        "leader_epoch",
        "log",
        "role",
        "topic",
        "topic_id",
    )

    def __init__(
        self,
        topic: str,
        topic_id: TopicId,
        index: int,
        log: Log,
        leader_epoch: int = 0,
        role: Role = Role.LEADER,
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.is_internal = topic in INTERNAL_TOPICS
        self.index = index
        self.alone = frozenset({TopicPartition(topic, index)})
        """What nearly every transaction has for its partitions."""
        self.log = log
        self.leader_epoch = leader_epoch
        self.role = role

    @property
    def address(self) -> TopicPartition:
        return TopicPartition(self.topic, self.index)

    def __repr__(self) -> str:
        return f"Partition({self.topic}-{self.index}, {self.role.value} in {self.leader_epoch})"


class Topic:
    """One topic: ``partitions[i].index == i``. ``config`` is resolved, ``overrides`` is as set."""

    __slots__ = ("config", "id", "is_internal", "name", "overrides", "partitions")

    def __init__(
        self, name: str, topic_id: TopicId, overrides: Mapping[str, str], config: TopicConfig
    ) -> None:
        self.name = name
        self.id = topic_id
        self.overrides = dict(overrides)
        self.config = config
        self.is_internal = name in INTERNAL_TOPICS
        self.partitions: list[Partition] = []

    def __repr__(self) -> str:
        return f"Topic({self.name}, {len(self.partitions)} partitions)"


class TopicEvent(Enum):
    CREATED = "created"
    GROWN = "grown"
    DELETED = "deleted"
    RECONFIGURED = "reconfigured"


class TopicChange(NamedTuple):
    """Told to listeners after the fact; a deleted topic is gone from ``Topics`` already."""

    event: TopicEvent
    topic: Topic


class Topics:
    """All topics that this node serves."""

    __slots__ = ("_by_id", "_by_name", "_listeners", "_partitions", "partition_count")

    def __init__(self) -> None:
        self._by_name: dict[str, Topic] = {}
        self._by_id: dict[TopicId, Topic] = {}
        self._partitions: dict[str, list[Partition]] = {}
        self._listeners: list[Callable[[TopicChange], None]] = []
        self.partition_count = 0

    def get(self, name: str) -> Topic | None:
        return self._by_name.get(name)

    def by_id(self, topic_id: TopicId) -> Topic | None:
        return self._by_id.get(topic_id)

    def partitions(self, name: str) -> list[Partition] | None:
        """The hot look-up: a list by index. The caller must not change it."""
        return self._partitions.get(name)

    def partition(self, name: str, index: int) -> Partition | None:
        partitions = self._partitions.get(name)
        if partitions is None or not 0 <= index < len(partitions):
            return None
        return partitions[index]

    def __iter__(self) -> Iterator[Topic]:
        return iter(self._by_name.values())

    def __len__(self) -> int:
        return len(self._by_name)

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def on_change(self, listener: Callable[[TopicChange], None]) -> None:
        """Call ``listener`` after every change, in the order of registration."""
        self._listeners.append(listener)

    def add(self, topic: Topic) -> None:
        assert topic.name not in self._by_name, topic.name
        assert topic.id not in self._by_id, topic.name
        self._by_name[topic.name] = topic
        self._by_id[topic.id] = topic
        self._partitions[topic.name] = topic.partitions
        self.partition_count += len(topic.partitions)
        self._tell(TopicEvent.CREATED, topic)

    def grow(self, topic: Topic, partitions: Sequence[Partition]) -> None:
        assert [p.index for p in partitions] == list(
            range(len(topic.partitions), len(topic.partitions) + len(partitions))
        ), topic.name
        topic.partitions.extend(partitions)
        self.partition_count += len(partitions)
        self._tell(TopicEvent.GROWN, topic)

    def remove(self, topic: Topic) -> None:
        del self._by_name[topic.name]
        del self._by_id[topic.id]
        del self._partitions[topic.name]
        self.partition_count -= len(topic.partitions)
        self._tell(TopicEvent.DELETED, topic)

    def reconfigure(self, topic: Topic, overrides: Mapping[str, str], config: TopicConfig) -> None:
        topic.overrides = dict(overrides)
        topic.config = config
        self._tell(TopicEvent.RECONFIGURED, topic)

    def _tell(self, event: TopicEvent, topic: Topic) -> None:
        change = TopicChange(event, topic)
        for listener in self._listeners:
            listener(change)
