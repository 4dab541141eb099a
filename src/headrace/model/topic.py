"""Topics and partitions: names, ids, and the rules for a legal name."""

from __future__ import annotations

import re
from typing import NamedTuple

from headrace.model.errors import InvalidTopicName

NAME_LENGTH_MAX = 249
_LEGAL_NAME = re.compile(r"[a-zA-Z0-9._-]+\Z")

CONSUMER_OFFSETS_TOPIC = "__consumer_offsets"
TRANSACTION_STATE_TOPIC = "__transaction_state"
CLUSTER_METADATA_TOPIC = "__cluster_metadata"
"""Not a topic that clients see: the name is that of the metadata log's directory."""
INTERNAL_TOPICS = frozenset({CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC})

TopicId = bytes
"""Sixteen bytes, the big-endian form of a UUID."""

NO_TOPIC_ID: TopicId = bytes(16)


class TopicPartition(NamedTuple):
    """The address of one log."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


def raise_if_illegal_topic_name(name: str) -> None:
    """Kafka's rules: 1 to 249 of ``[a-zA-Z0-9._-]``, and neither ``.`` nor ``..``."""
    if not name:
        raise InvalidTopicName("a topic name must not be empty")
    if name in (".", ".."):
        raise InvalidTopicName(f"a topic must not be named {name!r}")
    if len(name) > NAME_LENGTH_MAX:
        raise InvalidTopicName(
            f"topic name is {len(name)} characters long, the limit is {NAME_LENGTH_MAX}"
        )
    if not _LEGAL_NAME.match(name):
        raise InvalidTopicName(
            f"topic name {name!r} has characters other than letters, digits, '.', '_' and '-'"
        )


def collision_key(name: str) -> str:
    """Names with equal keys collide in metric names, where ``.`` becomes ``_``."""
    return name.replace(".", "_")
