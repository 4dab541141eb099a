"""Records of every shape in topics of a broker, and what can be done to them behind a reader."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions

if TYPE_CHECKING:
    from headrace.testing import Broker

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
CALL_SECONDS = 20.0
FIRST_MS = 1_700_000_000_000
LINGER_MS = 500  # `flush` does not wait for it, so the records between two of them are one batch
QUIET = {"log_level": 0}


def unique_name(word: str) -> str:
    return f"{word}-{uuid4().hex[:8]}"


def new_topic(broker: Broker, partitions: int = 2, **config: str) -> str:
    names = {name.replace("_", "."): value for name, value in config.items()}
    return broker.create_topic(unique_name("t"), partitions, names)


def producer(broker: Broker, codec: str = "none", **settings: object) -> Producer:
    own = {name.replace("_", "."): value for name, value in settings.items()}
    base = {
        "bootstrap.servers": broker.bootstrap_servers,
        "compression.type": codec,
        "linger.ms": LINGER_MS,
        **QUIET,
    }
    return Producer({**base, **own})


def headers_of(number: int) -> list[tuple[str, bytes | None]] | None:
    """None, one, several; some without a value."""
    shapes = (None, [("trace", b"%d" % number)], [("a", b"1"), ("a", None), ("\u00fc", b"")])
    return shapes[number % len(shapes)]


def fill(
    broker: Broker,
    topic: str,
    count: int,
    codec: str = "none",
    *,
    first: int = 0,
) -> None:
    """``count`` records, one millisecond apart, to the partitions in turn.

    Some have no key, some no value, some an empty one, some are as large as a batch.
    """
    made = producer(broker, codec)
    partitions = partition_count(broker, topic)
    for number in range(first, first + count):
        key = None if number % 5 == 0 else b"key-%d" % number
        value = None if number % 7 == 3 else b"" if number % 11 == 5 else b"value-%d" % number
        if number % 50 == 17:
            value = bytes(range(256)) * 100
        made.produce(
            topic,
            value,
            key,
            partition=number % partitions,
            timestamp=FIRST_MS + number,
            headers=headers_of(number),
        )
    assert made.flush(CALL_SECONDS) == 0


def send_in_transaction(
    broker: Broker, topic: str, count: int, *, is_committed: bool, first: int = 0
) -> None:
    made = producer(broker, transactional_id=unique_name("writer"))
    made.init_transactions(CALL_SECONDS)
    made.begin_transaction()
    for number in range(first, first + count):
        made.produce(topic, b"%d" % number, partition=0, timestamp=FIRST_MS + number)
    assert made.flush(CALL_SECONDS) == 0
    if is_committed:
        made.commit_transaction(CALL_SECONDS)
    else:
        made.abort_transaction(CALL_SECONDS)


def admin(broker: Broker) -> AdminClient:
    """To be kept in a variable until the answer is there: without its client none comes."""
    return AdminClient({"bootstrap.servers": broker.bootstrap_servers, **QUIET})


def partition_count(broker: Broker, topic: str) -> int:
    client = admin(broker)
    return len(client.list_topics(topic, CALL_SECONDS).topics[topic].partitions)


def add_partitions(broker: Broker, topic: str, total: int) -> None:
    client = admin(broker)
    client.create_partitions([NewPartitions(topic, total)])[topic].result(CALL_SECONDS)


def delete_topic(broker: Broker, topic: str) -> None:
    client = admin(broker)
    client.delete_topics([topic])[topic].result(CALL_SECONDS)


def age_out(broker: Broker, topic: str, partition: int, before: int) -> None:
    """Everything below ``before`` is gone, as retention would do it."""
    client = admin(broker)
    wanted = TopicPartition(topic, partition, before)
    client.delete_records([wanted])[wanted].result(CALL_SECONDS)
