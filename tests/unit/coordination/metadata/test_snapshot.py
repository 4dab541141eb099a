"""A snapshot replays to the state that it was taken of."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headrace.coordination.metadata.records import (
    ConfigRecord,
    FeatureLevelRecord,
    ForeignRecord,
    ProducerIdsRecord,
    RecordType,
    ResourceType,
)
from headrace.coordination.metadata.snapshot import snapshot_records
from headrace.coordination.metadata.state import MetadataState
from headrace.coordination.metadata.topics import (
    Bounds,
    NewTopic,
    Node,
    decide_creation,
    decide_deletion,
    decide_growth,
    decide_new_epochs,
)

NODE = Node(1, b"d" * 16)
BOUNDS = Bounds(1, 1000)
NAMES = st.sampled_from(["a", "b", "c"])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("create"), NAMES, st.integers(1, 3)),
        st.tuples(st.just("grow"), NAMES, st.integers(1, 5)),
        st.tuples(st.just("lead"), NAMES, st.just(0)),
        st.tuples(st.just("delete"), NAMES, st.just(0)),
        st.tuples(st.just("config"), NAMES, st.integers(0, 2)),
    ),
    max_size=20,
)


def facts(state: MetadataState) -> Any:
    return {
        "topics": {topic.name: (topic.id, topic.partitions) for topic in state.topics()},
        "configs": dict(state.configs()),
        "features": state.features,
        "next_producer_id": state.next_producer_id,
        "foreign": state.foreign,
        "count": state.partition_count,
    }


def decide(state: MetadataState, step: str, name: str, number: int, topic_id: bytes) -> Any:
    topic = state.topic(name)
    if step == "create" and topic is None:
        return decide_creation(state, NewTopic(name, number), topic_id, NODE, BOUNDS)
    if step == "config":
        value = str(number) if number else None
        return [ConfigRecord(ResourceType.TOPIC, name, "retention.ms", value)]
    if topic is None:
        return []
    if step == "grow" and number > len(topic.partitions):
        return decide_growth(state, name, number, None, NODE, BOUNDS)
    if step == "lead":
        return decide_new_epochs(state, [(name, 0)], NODE)
    return decide_deletion(topic) if step == "delete" else []


@given(STEPS)
def test_snapshot_replays_to_the_same_state(steps: Any) -> None:
    state = MetadataState()
    state.replay(FeatureLevelRecord("metadata.version", 30))
    state.replay(ForeignRecord(RecordType.DELEGATION_TOKEN, b"token"))
    for number, (step, name, count) in enumerate(steps):
        for record in decide(state, step, name, count, number.to_bytes(16, "big")):
            state.replay(record)
        state.replay(ProducerIdsRecord(1, 1000 * number))
    copy = MetadataState()
    for record in snapshot_records(state, 1):
        copy.replay(record)
    assert facts(copy) == facts(state)
