"""Reading a whole partition with checksums on."""

from __future__ import annotations

import time

from confluent_kafka import Consumer, Message, TopicPartition

ANSWER_SECONDS_MAX = 30.0
READ_COUNT_MAX = 10_000
READ_SECONDS_MAX = 20.0
READ_WAIT_SECONDS = 0.3


def read_to_end(bootstrap_servers: str, topic: str, partition: int) -> list[Message]:
    """All records of a partition, checksums checked by the client."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": "reader",
            "enable.auto.commit": False,
            "check.crcs": True,
            "log_level": 0,
        }
    )
    where = TopicPartition(topic, partition)
    low, high = consumer.get_watermark_offsets(where, timeout=ANSWER_SECONDS_MAX)
    consumer.assign([TopicPartition(topic, partition, low)])
    records: list[Message] = []
    position = low
    deadline_s = time.monotonic() + READ_SECONDS_MAX
    while position < high:
        count = min(high - position, READ_COUNT_MAX)
        messages = consumer.consume(count, timeout=READ_WAIT_SECONDS)
        assert messages or time.monotonic() < deadline_s, f"{topic}-{partition} ends at {position}"
        for message in messages:
            assert message.error() is None, message.error()
            records.append(message)
            position = message.offset() + 1
    consumer.close()
    return records
