"""The look-up of topics, and who is told of changes."""

from __future__ import annotations

from typing import Any, cast

from headrace.broker.topics import Partition, Topic, TopicChange, TopicEvent, Topics
from headrace.config.broker import BrokerConfig
from headrace.config.topic import TopicConfig
from headrace.model.topic import TopicPartition

CONFIG = TopicConfig.resolve({}, BrokerConfig())


def new_partition(topic: Topic, index: int) -> Partition:
    return Partition(topic.name, topic.id, index, cast("Any", object()))


def new_topic(name: str, partition_count: int = 2) -> Topic:
    topic = Topic(name, name.encode().ljust(16, b"."), {}, CONFIG)
    topic.partitions += (new_partition(topic, index) for index in range(partition_count))
    return topic


def test_topic_is_found_by_name_by_id_and_by_partition() -> None:
    topics, orders = Topics(), new_topic("orders")
    topics.add(orders)
    assert topics.get("orders") is orders
    assert topics.by_id(orders.id) is orders
    assert topics.partitions("orders") is orders.partitions
    assert topics.partition("orders", 1) is orders.partitions[1]
    assert orders.partitions[1].address == TopicPartition("orders", 1)
    assert "orders" in topics
    assert (list(topics), len(topics), topics.partition_count) == ([orders], 1, 2)


def test_what_is_not_there_is_none() -> None:
    topics = Topics()
    topics.add(new_topic("orders"))
    assert topics.get("other") is None
    assert topics.by_id(b"?" * 16) is None
    assert topics.partitions("other") is None
    assert topics.partition("other", 0) is None
    assert topics.partition("orders", 2) is None
    assert topics.partition("orders", -1) is None


def test_growth_is_seen_through_a_list_taken_before() -> None:
    topics, orders = Topics(), new_topic("orders")
    topics.add(orders)
    partitions = topics.partitions("orders")
    topics.grow(orders, [new_partition(orders, 2)])
    assert partitions is not None
    assert [partition.index for partition in partitions] == [0, 1, 2]
    assert topics.partition_count == 3


def test_removed_topic_is_gone_from_every_look_up() -> None:
    topics, orders = Topics(), new_topic("orders")
    topics.add(orders)
    topics.remove(orders)
    assert topics.get("orders") is None
    assert topics.by_id(orders.id) is None
    assert topics.partitions("orders") is None
    assert topics.partition_count == 0


def test_listeners_hear_of_each_change_after_it_happened() -> None:
    topics, orders = Topics(), new_topic("orders")
    heard: list[tuple[TopicChange, bool]] = []
    topics.on_change(lambda change: heard.append((change, change.topic.name in topics)))
    topics.add(orders)
    topics.grow(orders, [new_partition(orders, 2)])
    topics.reconfigure(orders, {"retention.ms": "1"}, CONFIG)
    topics.remove(orders)
    assert heard == [
        (TopicChange(TopicEvent.CREATED, orders), True),
        (TopicChange(TopicEvent.GROWN, orders), True),
        (TopicChange(TopicEvent.RECONFIGURED, orders), True),
        (TopicChange(TopicEvent.DELETED, orders), False),
    ]


def test_internal_topics_know_that_they_are() -> None:
    assert new_topic("__consumer_offsets").is_internal
    assert not new_topic("orders").is_internal
