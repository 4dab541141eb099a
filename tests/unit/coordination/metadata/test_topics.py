"""What a wish about a topic comes to: records, or a named refusal."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.coordination.metadata.records import (
    ConfigRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    ResourceType,
    TopicRecord,
)
from headrace.coordination.metadata.state import MetadataState
from headrace.coordination.metadata.topics import (
    PARTITIONS_PER_TOPIC_MAX,
    Bounds,
    NewTopic,
    Node,
    decide_creation,
    decide_deletion,
    decide_growth,
    decide_leadership,
    decide_new_epochs,
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

NODE = Node(1, b"d" * 16)
BOUNDS = Bounds(default_partition_count=4, partitions_max=100_000)
ID = b"i" * 16


def create(
    state: MetadataState, wish: NewTopic, topic_id: bytes = ID, bounds: Bounds = BOUNDS
) -> Any:
    records = decide_creation(state, wish, topic_id, NODE, bounds)
    for record in records:
        state.replay(record)
    return records


def partition_record(index: int, topic_id: bytes = ID) -> Any:
    return PartitionRecord(index, topic_id, (1,), (1,), 1, 0, 0, (NODE.directory_id,))


def test_creation_writes_the_topic_its_settings_and_its_partitions() -> None:
    wish = NewTopic("orders", 2, 1, {"retention.ms": "5", "durability": "fsync"})
    assert create(MetadataState(), wish) == [
        TopicRecord("orders", ID),
        ConfigRecord(ResourceType.TOPIC, "orders", "durability", "fsync"),
        ConfigRecord(ResourceType.TOPIC, "orders", "retention.ms", "5"),
        partition_record(0),
        partition_record(1),
    ]


def test_creation_without_numbers_takes_the_defaults() -> None:
    state = MetadataState()
    create(state, NewTopic("orders"))
    assert len(state.topic("orders").partitions) == 4


def test_creation_by_assignment_counts_the_assignments() -> None:
    state = MetadataState()
    create(state, NewTopic("orders", assignments=[(1, [1]), (0, [1]), (2, [1])]))
    assert sorted(state.topic("orders").partitions) == [0, 1, 2]


@pytest.mark.parametrize(
    ("wish", "error", "words"),
    [
        (NewTopic(""), InvalidTopicName, "empty"),
        (NewTopic("a b"), InvalidTopicName, "characters"),
        (NewTopic("x" * 250), InvalidTopicName, "249"),
        (NewTopic("__cluster_metadata"), InvalidTopicName, "metadata log"),
        (NewTopic("taken"), TopicExists, "exists"),
        (NewTopic("ta.ken"), InvalidTopicName, "collides with the existing topic 'ta_ken'"),
        (NewTopic("t", 0), InvalidPartitionCount, "0 partitions"),
        (NewTopic("t", -2), InvalidPartitionCount, "-2 partitions"),
        (NewTopic("t", 1, 0), InvalidReplicationFactor, "factor 0"),
        (NewTopic("t", 1, -2), InvalidReplicationFactor, "factor -2"),
        (NewTopic("t", 1, 2), InvalidReplicationFactor, "only 1 broker"),
        (NewTopic("t", PARTITIONS_PER_TOPIC_MAX + 1), LimitReached, "limit for one topic"),
        (NewTopic("t", 1, -1, {}, [(0, [1])]), InvalidRequest, "partitions must be -1"),
        (NewTopic("t", -1, 1, {}, [(0, [1])]), InvalidRequest, "factor must be -1"),
        (NewTopic("t", assignments=[(0, [1]), (0, [1])]), InvalidReplicaAssignment, "each once"),
        (NewTopic("t", assignments=[(1, [1])]), InvalidReplicaAssignment, "0, 1, 2"),
        (NewTopic("t", assignments=[(0, [2])]), InvalidReplicaAssignment, r"must be \[1\]"),
        (NewTopic("t", assignments=[(0, [1, 2])]), InvalidReplicaAssignment, r"must be \[1\]"),
    ],
)
def test_creation_is_refused(wish: NewTopic, error: type[Exception], words: str) -> None:
    state = MetadataState()
    create(state, NewTopic("taken", 1))
    create(state, NewTopic("ta_ken", 1), b"j" * 16)
    with pytest.raises(error, match=words):
        create(state, wish, b"k" * 16)


def test_partitions_of_the_broker_are_limited_over_all_topics() -> None:
    state = MetadataState()
    bounds = Bounds(1, partitions_max=5)
    create(state, NewTopic("a", 4), bounds=bounds)
    with pytest.raises(LimitReached, match=r"headrace\.partitions\.max"):
        create(state, NewTopic("b", 2), b"j" * 16, bounds)
    with pytest.raises(LimitReached, match="its limit is 5"):
        decide_growth(state, "a", 6, None, NODE, bounds)
    create(state, NewTopic("b", 1), b"j" * 16, bounds)


def test_growth_adds_the_partitions_that_are_missing() -> None:
    state = MetadataState()
    create(state, NewTopic("orders", 2))
    records = decide_growth(state, "orders", 4, [[1], [1]], NODE, BOUNDS)
    assert records == [partition_record(2), partition_record(3)]


@pytest.mark.parametrize(
    ("name", "count", "assignments", "error"),
    [
        ("unknown", 4, None, UnknownTopicOrPartition),
        ("orders", 2, None, InvalidPartitionCount),
        ("orders", 1, None, InvalidPartitionCount),
        ("orders", -1, None, InvalidPartitionCount),
        ("orders", 4, [[1]], InvalidReplicaAssignment),
        ("orders", 3, [[2]], InvalidReplicaAssignment),
        ("orders", PARTITIONS_PER_TOPIC_MAX + 1, None, LimitReached),
    ],
)
def test_growth_is_refused(name: str, count: int, assignments: Any, error: type[Exception]) -> None:
    state = MetadataState()
    create(state, NewTopic("orders", 2))
    with pytest.raises(error):
        decide_growth(state, name, count, assignments, NODE, BOUNDS)


def test_deletion_is_one_record() -> None:
    state = MetadataState()
    create(state, NewTopic("orders", 2))
    assert decide_deletion(state.topic("orders")) == [RemoveTopicRecord(ID)]


def test_leadership_is_taken_of_copies_that_have_another_leader_or_none() -> None:
    state = MetadataState()
    state.replay(TopicRecord("orders", ID))
    state.replay(partition_record(0))
    state.replay(partition_record(1)._replace(leader=-1, in_sync=()))
    state.replay(partition_record(2)._replace(leader=2, replicas=(2, 1), in_sync=(2, 1)))
    state.replay(partition_record(3)._replace(leader=2, replicas=(2,), in_sync=(2,)))
    records = decide_leadership(state, NODE)
    assert [record.partition for record in records] == [1, 2]
    for record in records:
        state.replay(record)
    assert decide_leadership(state, NODE) == []
    assert state.topic("orders").partitions[2].replicas == (1,)
    assert state.topic("orders").partitions[2].leader_epoch == 1


def test_new_epochs_are_changes_of_leader_to_the_same_node() -> None:
    state = MetadataState()
    create(state, NewTopic("orders", 2))
    (record,) = decide_new_epochs(state, [("orders", 1)], NODE)
    assert isinstance(record, PartitionChangeRecord)
    state.replay(record)
    epochs = [state.topic("orders").partitions[index].leader_epoch for index in (0, 1)]
    assert epochs == [0, 1]
