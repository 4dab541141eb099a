"""What cannot be served is said, with names and numbers."""

from __future__ import annotations

from typing import Any

from headrace.coordination.metadata.notices import (
    foreign_feature_notices,
    is_wholly_here,
    topic_notices,
)
from headrace.coordination.metadata.records import (
    ConfigRecord,
    ForeignRecord,
    PartitionRecord,
    RecordType,
    ResourceType,
    TopicRecord,
    UnknownRecord,
)
from headrace.coordination.metadata.state import MetadataState


def add_topic(state: MetadataState, name: str, *replicas: Any, first_index: int = 0) -> None:
    topic_id = name.encode().ljust(16, b".")
    state.replay(TopicRecord(name, topic_id))
    for index, nodes in enumerate(replicas, first_index):
        state.replay(PartitionRecord(index, topic_id, nodes, nodes, nodes[0], 0, 0))


def test_state_without_anything_special_gives_no_notice() -> None:
    state = MetadataState()
    add_topic(state, "plain", (1,), (1,))
    assert topic_notices(state, 1) == []
    assert foreign_feature_notices(state) == []


def test_topics_with_partitions_elsewhere_are_named() -> None:
    state = MetadataState()
    add_topic(state, "partly", (1,), (2,))
    add_topic(state, "gap", (1,), first_index=1)
    (sentence,) = topic_notices(state, 1)
    assert sentence.endswith("are not served: gap, partly")
    assert not is_wholly_here(state.topic("partly"), 1)
    assert not is_wholly_here(state.topic("gap"), 1)


def test_topics_with_other_replicas_and_tiered_ones_are_named() -> None:
    state = MetadataState()
    add_topic(state, "shared", (2, 1))
    add_topic(state, "tiered", (1,))
    state.replay(ConfigRecord(ResourceType.TOPIC, "tiered", "remote.storage.enable", "true"))
    assert topic_notices(state, 1) == [
        "this node is now the only replica of: shared",
        "there is no remote tier, so only the local part is served of: tiered",
    ]


def test_long_lists_of_topics_are_shortened() -> None:
    state = MetadataState()
    for number in range(7):
        add_topic(state, f"t{number}", (2,))
    (sentence,) = topic_notices(state, 1)
    assert sentence.endswith("t0, t1, t2, t3, t4 and 2 more")


def test_foreign_features_are_named_while_something_of_them_is_left() -> None:
    state = MetadataState()
    for record_type in (
        RecordType.DELEGATION_TOKEN,
        RecordType.DELEGATION_TOKEN,
        RecordType.REMOVE_DELEGATION_TOKEN,
        RecordType.CLIENT_QUOTA,
    ):
        state.replay(ForeignRecord(record_type, b""))
    state.replay(UnknownRecord(99))
    assert foreign_feature_notices(state) == [
        "quotas of an unknown kind of entity are not enforced (metadata records kept: 1)",
        "delegation tokens are not accepted (metadata records kept: 1)",
        "metadata records of unknown type 99 are ignored (1)",
    ]
