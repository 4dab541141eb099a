"""All messages of a topic, as (key, value) in the order of each partition."""

from __future__ import annotations

from confluent_kafka import Consumer, KafkaError, TopicPartition


def read_all(bootstrap_servers: str, topic: str) -> list[tuple[str, str]]:
    consumer = Consumer(
        {"bootstrap.servers": bootstrap_servers, "group.id": "r", "enable.partition.eof": True}
    )
    try:
        partitions = list(consumer.list_topics(topic, 10).topics[topic].partitions)
        consumer.assign([TopicPartition(topic, p, 0) for p in partitions])
        found: list[tuple[str, str]] = []
        unfinished = set(partitions)
        while unfinished:
            message = consumer.poll(10)
            assert message is not None, "the broker does not answer"
            error = message.error()
            if error is None:
                found.append(((message.key() or b"").decode(), (message.value() or b"").decode()))
            else:
                assert error.code() == KafkaError._PARTITION_EOF, error
                unfinished.discard(message.partition())
        return found
    finally:
        consumer.close()
