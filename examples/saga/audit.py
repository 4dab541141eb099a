"""Rows against messages: every row's message is in its topic once, and no message lacks its row."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from sqlalchemy import select
from tables import orders, payments, reservations

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Engine

SILENCE_SECONDS_MAX = 30
ANSWER_SECONDS_MAX = 10

# A row that has been moved on has sent a message for each step on its way.
EVENTS = {
    ("stock", "reserved"): ("stock-reserved",),
    ("stock", "released"): ("stock-reserved", "stock-released"),
    ("stock", "refused"): ("stock-refused",),
    ("payment", "charged"): ("payment-charged",),
    ("payment", "refused"): ("payment-refused",),
}

Event = tuple[str, str]
"""What happened to which order."""


def message_violations(bootstrap_servers: str, engines: dict[str, Engine]) -> list[str]:
    """In words. To be asked when all services have come to rest."""
    found = []
    for topic, expected in expected_messages(engines).items():
        sent = Counter(read_topic(bootstrap_servers, topic))
        for event, order_id in sorted(expected.keys() | sent.keys()):
            times, wanted = sent[event, order_id], expected[event, order_id]
            if times != wanted:
                found.append(f"{topic}: {event} of {order_id} {times} times, not {wanted}")
    return found


def expected_messages(engines: dict[str, Engine]) -> dict[str, Counter[Event]]:
    """By topic: what the rows say that was sent."""
    with engines["orders"].connect() as connection:
        placed = connection.execute(select(orders.c.order_id)).scalars()
        expected = {"orders": Counter(("order-placed", order_id) for order_id in placed)}
    for topic, table in (("stock", reservations), ("payment", payments)):
        with engines[topic].connect() as connection:
            rows = connection.execute(select(table.c.order_id, table.c.state)).all()
        expected[topic] = Counter(
            (event, row.order_id) for row in rows for event in EVENTS[topic, row.state]
        )
    return expected


def read_topic(bootstrap_servers: str, topic: str) -> Iterator[Event]:
    """All that is in the topic, from its beginning to its end."""
    config = {"bootstrap.servers": bootstrap_servers, "group.id": "audit"}
    consumer = Consumer({**config, "enable.partition.eof": True, "enable.auto.commit": False})
    try:
        partitions = set(consumer.list_topics(topic, ANSWER_SECONDS_MAX).topics[topic].partitions)
        consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
        while partitions:
            message = consumer.poll(SILENCE_SECONDS_MAX)
            if message is None:
                raise TimeoutError(f"{topic} does not come to its end")
            error = message.error()
            if error is None:
                order = json.loads(message.value() or b"{}")
                yield order["event"], order["order_id"]
            elif error.code() == KafkaError._PARTITION_EOF:
                partitions.discard(message.partition())
            else:
                raise KafkaException(error)
    finally:
        consumer.close()
