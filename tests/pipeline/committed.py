"""What a reader of committed data finds in a topic, by librdkafka and not by our own reader."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confluent_kafka.admin import AdminClient

from soak.whole_topic import read_whole

if TYPE_CHECKING:
    from confluent_kafka import Message

SECONDS_MAX = 60.0


def committed(bootstrap: str, topic: str) -> list[Message]:
    """All records up to the last stable offset of every partition."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    partitions = admin.list_topics(topic, timeout=SECONDS_MAX).topics[topic].partitions
    return list(read_whole(bootstrap, topic, len(partitions)))


def values(bootstrap: str, topic: str) -> list[bytes | None]:
    return sorted(
        (message.value() for message in committed(bootstrap, topic)), key=lambda v: v or b""
    )
