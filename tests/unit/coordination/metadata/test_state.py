"""State comes from replaying records, and from nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.coordination.metadata.records import (
    NO_LEADER,
    ConfigRecord,
    FeatureLevelRecord,
    ForeignRecord,
    MembershipRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RecordType,
    RemoveTopicRecord,
    ResourceType,
    TopicRecord,
    UnknownRecord,
)
from headrace.coordination.metadata.state import ConfigResource, MetadataState, PartitionState
from headrace.model.errors import DamagedLog

ID = b"i" * 16
DIRECTORY = b"d" * 16
CONFIG = ConfigResource(ResourceType.TOPIC, "orders")


def replayed(*records: Any) -> Any:
    state = MetadataState()
    for record in records:
        state.replay(record)
    return state


def topic_with(count: int, name: str = "orders", topic_id: bytes = ID) -> Any:
    return [
        TopicRecord(name, topic_id),
        *(
            PartitionRecord(index, topic_id, (1,), (1,), 1, 0, 0, (DIRECTORY,))
            for index in range(count)
        ),
    ]


def test_topic_is_found_by_name_and_by_id() -> None:
    state = replayed(*topic_with(3))
    assert state.topic("orders") is state.topic_by_id(ID)
    assert sorted(state.topic("orders").partitions) == [0, 1, 2]
    assert state.partition_count == 3


def test_change_with_a_leader_begins_a_new_epoch() -> None:
    change = PartitionChangeRecord(0, ID, leader=NO_LEADER, in_sync=())
    state = replayed(*topic_with(1), change)
    assert state.topic("orders").partitions[0] == PartitionState(
        NO_LEADER, 1, 1, (1,), (), (DIRECTORY,)
    )


def test_change_without_a_leader_keeps_the_epoch() -> None:
    change = PartitionChangeRecord(0, ID, in_sync=(1, 2), replicas=(1, 2), directories=(b"", b""))
    partition = replayed(*topic_with(1), change).topic("orders").partitions[0]
    assert partition == PartitionState(1, 0, 1, (1, 2), (1, 2), (b"", b""))


def test_removed_topic_takes_its_settings_and_its_name_along() -> None:
    state = replayed(
        *topic_with(2),
        ConfigRecord(ResourceType.TOPIC, "orders", "retention.ms", "1"),
        RemoveTopicRecord(ID),
    )
    assert state.topic("orders") is None
    assert state.topic_by_id(ID) is None
    assert state.config(CONFIG) == {}
    assert state.partition_count == 0
    assert state.colliding_names("orders") == set()


def test_names_that_differ_in_dots_and_underscores_collide() -> None:
    state = replayed(*topic_with(1, "a.b"))
    assert state.colliding_names("a_b") == {"a.b"}
    assert state.colliding_names("a.b") == set()
    assert state.colliding_names("a-b") == set()


def test_setting_without_a_value_is_forgotten() -> None:
    def setting(name: str, value: Any) -> Any:
        return ConfigRecord(ResourceType.TOPIC, "orders", name, value)

    state = replayed(setting("a", "1"), setting("b", "2"), setting("a", None), setting("c", None))
    assert state.config(CONFIG) == {"b": "2"}
    state.replay(setting("b", None))
    assert list(state.configured(ResourceType.TOPIC)) == []


def test_feature_of_level_zero_is_forgotten() -> None:
    state = replayed(FeatureLevelRecord("a", 3), FeatureLevelRecord("b", 1))
    state.replay(FeatureLevelRecord("a", 0))
    assert state.features == {"b": 1}


def test_producer_ids_never_go_back() -> None:
    state = replayed(ProducerIdsRecord(1, 2000), ProducerIdsRecord(1, 1000))
    assert state.next_producer_id == 2000


def test_foreign_records_are_kept_and_unknown_ones_counted() -> None:
    token = ForeignRecord(RecordType.DELEGATION_TOKEN, b"frame")
    no_op = MembershipRecord(RecordType.NO_OP)
    state = replayed(token, UnknownRecord(99), UnknownRecord(99), no_op)
    assert state.foreign == [token]
    assert state.unknown == {99: 2}


@pytest.mark.parametrize(
    "record",
    [
        PartitionRecord(0, b"?" * 16, (1,), (1,), 1, 0, 0),
        PartitionChangeRecord(0, b"?" * 16),
        PartitionChangeRecord(7, ID),
        RemoveTopicRecord(b"?" * 16),
    ],
)
def test_record_about_something_that_was_never_created_is_damage(record: Any) -> None:
    state = replayed(*topic_with(1))
    with pytest.raises(DamagedLog, match="never created"):
        state.replay(record)
