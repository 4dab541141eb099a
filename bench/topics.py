"""Topics of the bench: made, counted and removed through librdkafka, as any user would."""

from __future__ import annotations

import itertools
from contextlib import contextmanager
from typing import TYPE_CHECKING

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bench.peers import Peer

ADMIN_SECONDS_MAX = 60.0
_numbers = itertools.count(1)


class RecordsMissing(RuntimeError):
    """A topic holds fewer records than were sent."""


def admin_client(peer: Peer) -> AdminClient:
    quiet = 3  # errors only: the end of a client is reported as news otherwise
    return AdminClient({"bootstrap.servers": peer.bootstrap_servers, "log_level": quiet})


def create_topic(
    peer: Peer, name: str, partitions: int, settings: Mapping[str, str] | None = None
) -> None:
    topic = NewTopic(name, partitions, 1, config=dict(settings or {}))
    admin = admin_client(peer)  # must outlive its call
    admin.create_topics([topic])[name].result(ADMIN_SECONDS_MAX)


def delete_topic(peer: Peer, name: str) -> None:
    admin = admin_client(peer)
    admin.delete_topics([name])[name].result(ADMIN_SECONDS_MAX)


def has_topic(peer: Peer, name: str) -> bool:
    return name in admin_client(peer).list_topics(timeout=ADMIN_SECONDS_MAX).topics


@contextmanager
def fresh_topic(peer: Peer, label: str, partitions: int = 1) -> Iterator[str]:
    """A topic that no other work has seen; it is deleted at the end."""
    name = f"bench-{label}-{next(_numbers)}"
    create_topic(peer, name, partitions)
    try:
        yield name
    finally:
        delete_topic(peer, name)


def raise_if_missing(peer: Peer, name: str, partitions: int, expected: int) -> None:
    """RecordsMissing unless the topic holds what was sent: a rate of lost records is no rate."""
    consumer = Consumer({"bootstrap.servers": peer.bootstrap_servers, "group.id": "bench-count"})
    held = 0
    try:
        for number in range(partitions):
            wanted = TopicPartition(name, number)
            offsets = consumer.get_watermark_offsets(wanted, timeout=ADMIN_SECONDS_MAX)
            if offsets is None:
                raise KafkaException(f"no offsets of {name}-{number}")
            held += offsets[1] - offsets[0]
    finally:
        consumer.close()
    if held < expected:
        raise RecordsMissing(f"{name} on {peer.name} holds {held} of {expected} records")
