"""How far a streaming query has come, as it is kept in the checkpoint.

``{"topic": {"0": 23}}`` as Spark's Kafka source writes it, and whose offsets these are: names that
begin with ``@`` are no topics, since no topic can have such a name.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from headrace.model.topic import TopicPartition
from headrace.pipeline.errors import ForeignCheckpoint

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from headrace.pipeline.source.positions import Positions

CLUSTER_KEY = "@cluster"
TOPIC_IDS_KEY = "@topics"
NOT_A_TOPIC = "@"


@dataclass(frozen=True)
class StreamOffset:
    """``cluster_id`` and the ids are empty where a checkpoint does not tell them."""

    positions: Positions
    cluster_id: str = ""
    topic_ids: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """In order, so that equal offsets are equal text: Spark compares the text."""
        result: dict[str, Any] = {
            CLUSTER_KEY: self.cluster_id,
            TOPIC_IDS_KEY: dict(sorted(self.topic_ids.items())),
        }
        for partition in sorted(self.positions):
            by_partition = result.setdefault(partition.topic, {})
            by_partition[str(partition.partition)] = self.positions[partition]
        return result

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> StreamOffset:
        """ForeignCheckpoint if it is the checkpoint of another kind of source."""
        try:
            return cls(
                {
                    TopicPartition(topic, int(partition)): int(offset)
                    for topic, by_partition in value.items()
                    if not topic.startswith(NOT_A_TOPIC)
                    for partition, offset in by_partition.items()
                },
                str(value.get(CLUSTER_KEY, "")),
                {str(topic): str(text) for topic, text in value.get(TOPIC_IDS_KEY, {}).items()},
            )
        except (AttributeError, TypeError, ValueError) as error:
            raise ForeignCheckpoint(
                f"the checkpoint was not written by a query over topics: {value!r:.200}"
            ) from error

    def without(self, partitions: Collection[TopicPartition]) -> StreamOffset:
        """The same offset, but for these partitions."""
        kept = {key: at for key, at in self.positions.items() if key not in partitions}
        return replace(self, positions=kept)

    def is_same_topic(self, topic: str, other: StreamOffset) -> bool:
        """False only if both know the topic's id, and the ids differ."""
        mine, theirs = self.topic_ids.get(topic, ""), other.topic_ids.get(topic, "")
        return not (mine and theirs) or mine == theirs
