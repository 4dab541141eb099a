from __future__ import annotations

import json

import pytest

from headrace.model.topic import TopicPartition
from headrace.pipeline.errors import ForeignCheckpoint
from headrace.pipeline.source.stream_offset import StreamOffset

POSITIONS = {TopicPartition("t", 10): 5, TopicPartition("t", 2): 7, TopicPartition("a", 0): 0}


def test_there_and_back():
    offset = StreamOffset(POSITIONS, "cluster-1", {"t": "01", "a": "02"})
    assert StreamOffset.from_json(json.loads(json.dumps(offset.to_json()))) == offset


def test_equal_offsets_are_equal_text():
    turned = dict(reversed(POSITIONS.items()))
    texts = {
        json.dumps(StreamOffset(positions, "c", ids).to_json())
        for positions, ids in ((POSITIONS, {"t": "1", "a": "2"}), (turned, {"a": "2", "t": "1"}))
    }
    assert len(texts) == 1


def test_offsets_of_sparks_kafka_source_can_be_read():
    offset = StreamOffset.from_json({"t": {"0": 5}})
    assert offset == StreamOffset({TopicPartition("t", 0): 5})


@pytest.mark.parametrize("value", [{"t": 5}, {"t": {"x": 5}}, {"t": {"0": None}}, {"logOffset": 1}])
def test_offsets_of_other_sources_are_refused(value):
    with pytest.raises(ForeignCheckpoint, match="not written by a query over topics"):
        StreamOffset.from_json(value)


def test_topics_are_the_same_unless_both_ids_are_known_and_differ():
    one, other, unknown = (
        StreamOffset({}, "c", ids) for ids in ({"t": "1"}, {"t": "2"}, {"t": ""})
    )
    assert one.is_same_topic("t", one)
    assert one.is_same_topic("t", unknown)
    assert one.is_same_topic("u", other)
    assert not one.is_same_topic("t", other)
