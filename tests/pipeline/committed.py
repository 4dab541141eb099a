"""What a reader of committed data finds in a topic, by librdkafka and not by our own reader."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

if TYPE_CHECKING:
    from confluent_kafka import Message

SECONDS_MAX = 60.0
POLL_SECONDS = 0.1
POLL_RECORDS = 5_000


def committed(bootstrap: str, topic: str) -> list[Message]:
    """All records up to the last stable offset of every partition."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "committed",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
        }
    )
    try:
        partitions = consumer.list_topics(topic, timeout=SECONDS_MAX).topics[topic].partitions
        consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
        return _to_end(consumer, set(partitions))
    finally:
        consumer.close()


def _to_end(consumer: Consumer, unfinished: set[int]) -> list[Message]:
    found = []
    deadline = time.monotonic() + SECONDS_MAX
    while unfinished:
        assert time.monotonic() < deadline, f"partitions {unfinished} have no end"
        for message in consumer.consume(POLL_RECORDS, POLL_SECONDS):
            error = message.error()
            if error is None:
                found.append(message)
            elif error.code() == KafkaError._PARTITION_EOF:
                unfinished.discard(message.partition())
            else:
                raise KafkaException(error)
    return found


def values(bootstrap: str, topic: str) -> list[bytes | None]:
    return sorted(
        (message.value() for message in committed(bootstrap, topic)), key=lambda v: v or b""
    )
