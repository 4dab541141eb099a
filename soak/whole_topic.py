"""Every record of a topic up to its end, as a consumer of some isolation level is shown it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from soak.clients import client_settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from confluent_kafka import Message

SILENCE_SECONDS_MAX = 30.0


def assigned_consumer(
    bootstrap_servers: str, topic: str, partitions: int, isolation_level: str
) -> Consumer:
    """A consumer of its own, at the beginning, that is told where a partition ends."""
    consumer = Consumer(
        client_settings(
            bootstrap_servers,
            group_id="whole-topic",
            isolation_level=isolation_level,
            enable_partition_eof=True,
            enable_auto_commit=False,
        )
    )
    consumer.assign([TopicPartition(topic, number, 0) for number in range(partitions)])
    return consumer


def read_whole(
    bootstrap_servers: str, topic: str, partitions: int, isolation_level: str = "read_committed"
) -> Iterator[Message]:
    """TimeoutError if a partition does not come to its end."""
    consumer = assigned_consumer(bootstrap_servers, topic, partitions, isolation_level)
    unfinished = set(range(partitions))
    try:
        while unfinished:
            message = consumer.poll(SILENCE_SECONDS_MAX)
            if message is None:
                raise TimeoutError(f"{topic}: partitions {sorted(unfinished)} do not end")
            error = message.error()
            if error is None:
                yield message
            elif error.code() == KafkaError._PARTITION_EOF:
                unfinished.discard(message.partition() or 0)
            else:
                raise KafkaException(error)
    finally:
        consumer.close()
