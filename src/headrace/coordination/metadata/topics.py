"""Decisions about topics: which records a creation, a growth, a deletion or a start-up writes.

Everything is checked here, against the replayed state, before anything is written. There is one
node, so every partition has exactly one replica: this node's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headrace.coordination.metadata.records import (
    ConfigRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    ResourceType,
    TopicRecord,
)
from headrace.model.errors import (
    InvalidPartitionCount,
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
    InvalidRequest,
    InvalidTopicName,
    LimitReached,
    TopicExists,
    UnknownTopicOrPartition,
)
from headrace.model.topic import CLUSTER_METADATA_TOPIC, raise_if_illegal_topic_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headrace.coordination.metadata.records import MetadataRecord
    from headrace.coordination.metadata.state import MetadataState, PartitionState, TopicState
    from headrace.model.topic import TopicId

PARTITIONS_PER_TOPIC_MAX = 20_000

USE_DEFAULT = -1
"""As a partition count or replication factor: whatever the broker's configuration says."""


class Node(NamedTuple):
    """The one node there is, and the directory it keeps its logs in."""

    id: int
    directory_id: bytes


class NewTopic(NamedTuple):
    """A wish. ``assignments`` gives the replicas of each partition and excludes the two numbers."""

    name: str
    partition_count: int = USE_DEFAULT
    replication_factor: int = USE_DEFAULT
    overrides: Mapping[str, str] = {}
    assignments: Sequence[tuple[int, Sequence[int]]] = ()


class Bounds(NamedTuple):
    """What the broker's configuration says about numbers of partitions."""

    default_partition_count: int
    partitions_max: int


def decide_creation(
    state: MetadataState, wish: NewTopic, topic_id: TopicId, node: Node, bounds: Bounds
) -> list[MetadataRecord]:
    raise_if_name_is_unavailable(state, wish.name)
    count = _partition_count(wish, node, bounds.default_partition_count)
    _raise_if_too_many(state, wish.name, count, count, bounds.partitions_max)
    records: list[MetadataRecord] = [TopicRecord(wish.name, topic_id)]
    records += (
        ConfigRecord(ResourceType.TOPIC, wish.name, name, value)
        for name, value in sorted(wish.overrides.items())
    )
    records += _new_partitions(topic_id, range(count), node)
    return records


def decide_growth(
    state: MetadataState,
    name: str,
    count: int,
    assignments: Sequence[Sequence[int]] | None,
    node: Node,
    bounds: Bounds,
) -> list[MetadataRecord]:
    """Raise the number of partitions to ``count``; it never falls."""
    topic = known_topic(state, name)
    current = len(topic.partitions)
    if count == current:
        raise InvalidPartitionCount(f"topic {name!r} has {current} partition(s) already")
    if count < current:
        raise InvalidPartitionCount(
            f"topic {name!r} has {current} partition(s); {count} would not be an increase"
        )
    _raise_if_too_many(state, name, count, count - current, bounds.partitions_max)
    if assignments is not None:
        if len(assignments) != count - current:
            raise InvalidReplicaAssignment(
                f"{count - current} partition(s) are to be added to {name!r}, "
                f"but {len(assignments)} assignment(s) were given"
            )
        for replicas in assignments:
            _raise_if_not_on_node(replicas, node)
    return _new_partitions(topic.id, range(current, count), node)


def decide_deletion(topic: TopicState) -> list[MetadataRecord]:
    return [RemoveTopicRecord(topic.id)]


def decide_leadership(state: MetadataState, node: Node) -> list[MetadataRecord]:
    """At start: lead every partition that has a copy here, alone.

    A node that stopped under Kafka leaves its partitions without a leader, and a copy of the
    directory of a cluster's node names replicas that will never answer.
    """
    return [
        _lead_alone(topic.id, index, node)
        for topic in state.topics()
        for index, partition in topic.partitions.items()
        if node.id in partition.replicas and not _is_led_alone(partition, node)
    ]


def decide_new_epochs(
    state: MetadataState, partitions: Sequence[tuple[str, int]], node: Node
) -> list[MetadataRecord]:
    """Begin a new leader epoch, so that a consumer can tell that an end of a log was lost."""
    return [_lead_alone(known_topic(state, name).id, index, node) for name, index in partitions]


def raise_if_name_is_unavailable(state: MetadataState, name: str) -> None:
    raise_if_illegal_topic_name(name)
    if name == CLUSTER_METADATA_TOPIC:
        raise InvalidTopicName(f"{name} is the metadata log and cannot be a topic")
    if state.topic(name) is not None:
        raise TopicExists(f"topic {name!r} exists already")
    colliding = state.colliding_names(name)
    if colliding:
        raise InvalidTopicName(
            f"topic {name!r} collides with the existing topic {min(colliding)!r}: "
            "metrics cannot tell '.' from '_'"
        )


def known_topic(state: MetadataState, name: str) -> TopicState:
    topic = state.topic(name)
    if topic is None:
        raise UnknownTopicOrPartition(f"there is no topic {name!r}")
    return topic


def _partition_count(wish: NewTopic, node: Node, default_partition_count: int) -> int:
    if wish.assignments:
        return _assigned_partition_count(wish, node)
    factor = wish.replication_factor
    if factor == 0 or factor < USE_DEFAULT:
        raise InvalidReplicationFactor(
            f"replication factor {factor}: must be 1 or more, or -1 for the default"
        )
    if factor > 1:
        raise InvalidReplicationFactor(
            f"replication factor {factor}: there is only 1 broker, so 1 is the largest possible"
        )
    count = wish.partition_count
    if count == USE_DEFAULT:
        return default_partition_count
    if count < 1:
        raise InvalidPartitionCount(f"{count} partitions: must be 1 or more, or -1 for the default")
    return count


def _assigned_partition_count(wish: NewTopic, node: Node) -> int:
    if wish.replication_factor != USE_DEFAULT:
        raise InvalidRequest("with a manual assignment, the replication factor must be -1")
    if wish.partition_count != USE_DEFAULT:
        raise InvalidRequest("with a manual assignment, the number of partitions must be -1")
    indexes = sorted(index for index, _ in wish.assignments)
    if indexes != list(range(len(indexes))):
        raise InvalidReplicaAssignment("the assigned partitions must be 0, 1, 2, ..., each once")
    for _, replicas in wish.assignments:
        _raise_if_not_on_node(replicas, node)
    return len(indexes)


def _raise_if_not_on_node(replicas: Sequence[int], node: Node) -> None:
    if list(replicas) != [node.id]:
        raise InvalidReplicaAssignment(
            f"replicas {list(replicas)}: the only broker is {node.id}, so they must be [{node.id}]"
        )


def _raise_if_too_many(
    state: MetadataState, name: str, count: int, added: int, partitions_max: int
) -> None:
    if count > PARTITIONS_PER_TOPIC_MAX:
        raise LimitReached(
            f"topic {name!r} would have {count} partitions, "
            f"the limit for one topic is {PARTITIONS_PER_TOPIC_MAX}"
        )
    total = state.partition_count + added
    if total > partitions_max:
        raise LimitReached(
            f"with topic {name!r} this broker would have {total} partitions, "
            f"its limit is {partitions_max} (headrace.partitions.max)"
        )


def _new_partitions(topic_id: TopicId, indexes: range, node: Node) -> list[MetadataRecord]:
    replicas, directories = (node.id,), (node.directory_id,)
    return [
        PartitionRecord(
            partition=index,
            topic_id=topic_id,
            replicas=replicas,
            in_sync=replicas,
            leader=node.id,
            leader_epoch=0,
            partition_epoch=0,
            directories=directories,
        )
        for index in indexes
    ]


def _is_led_alone(partition: PartitionState, node: Node) -> bool:
    return partition.leader == node.id and partition.replicas == partition.in_sync == (node.id,)


def _lead_alone(topic_id: TopicId, index: int, node: Node) -> PartitionChangeRecord:
    return PartitionChangeRecord(
        partition=index,
        topic_id=topic_id,
        leader=node.id,
        replicas=(node.id,),
        in_sync=(node.id,),
        directories=(node.directory_id,),
    )
