from __future__ import annotations

from headrace.model.topic import TopicPartition
from headrace.pipeline.source.positions import flatten, named


def test_flat_and_in_order():
    partitions = flatten({"b": [1, 0], "a": [2]})
    assert partitions == [
        TopicPartition("a", 2),
        TopicPartition("b", 0),
        TopicPartition("b", 1),
    ]


def test_a_message_names_a_few_and_counts_the_rest():
    partitions = [TopicPartition("t", number) for number in reversed(range(8))]
    assert named(partitions[-2:]) == "t-0, t-1"
    assert named(partitions) == "t-0, t-1, t-2, t-3, t-4 and 3 more"
