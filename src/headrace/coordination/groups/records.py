"""The records of classic groups and offsets in ``__consumer_offsets``, as values.

The bytes are Kafka's own (see ``record_codecs.py``), so either broker reads the other's log.
"""

from __future__ import annotations

from typing import NamedTuple

from headrace.model.topic import NO_TOPIC_ID, TopicId

LEGACY_OFFSET_KEY = 0
OFFSET_KEY = 1
GROUP_KEY = 2
"""The first two bytes of a key: what kind of record it is. Values have a version of their own."""

NO_TIMESTAMP = -1


class CommittedOffset(NamedTuple):
    """How far a group has read a partition."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    expire_timestamp_ms: int = NO_TIMESTAMP
    """Set only by old clients that ask for a retention of their own."""
    topic_id: TopicId = NO_TOPIC_ID


class StoredMember(NamedTuple):
    """A member of a classic group as it survives a restart."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    subscription: bytes
    assignment: bytes


class StoredGroup(NamedTuple):
    """A classic group as it survives a restart: stable if it has members, empty if not."""

    protocol_type: str
    generation: int
    protocol_name: str | None
    leader_id: str | None
    state_timestamp_ms: int
    members: tuple[StoredMember, ...]
