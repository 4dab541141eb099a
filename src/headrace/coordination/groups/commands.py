"""What can be asked of a group coordinator, and what it answers.

Named tuples: immutable, and cheap enough for the two warm ones, Heartbeat and CommitOffsets.
Commands of the consumer protocol (KIP-848) live with it; these are the classic protocol's and those
which are common to both kinds of group.
"""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from headrace.model.topic import NO_TOPIC_ID, TopicId, TopicPartition

if TYPE_CHECKING:
    from collections.abc import Mapping

NO_TOPIC_IDS: Mapping[str, TopicId] = MappingProxyType({})

NO_GENERATION = -1
"""The generation (or member epoch) of a caller that claims no membership."""


class GroupKind(StrEnum):
    """The protocol that a group's members speak, as listed and filtered."""

    CLASSIC = "classic"
    CONSUMER = "consumer"


# --- membership, classic protocol ---------------------------------------------------------------


class Protocol(NamedTuple):
    """One way of assigning that a member supports, with its subscription for it."""

    name: str
    metadata: bytes


class JoinGroup(NamedTuple):
    group_id: str
    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocol_type: str
    protocols: tuple[Protocol, ...]
    member_id_required: bool = True
    """The caller understands that it must join again with an id it is given (KIP-394)."""
    can_skip_assignment: bool = True
    """The caller understands a leader that need not assign (KIP-814)."""


class JoinedMember(NamedTuple):
    member_id: str
    instance_id: str | None
    metadata: bytes


class Joined(NamedTuple):
    generation: int
    protocol_type: str | None
    protocol_name: str | None
    leader_id: str
    member_id: str
    members: tuple[JoinedMember, ...]
    """Filled for the leader only."""
    skip_assignment: bool = False


class SyncGroup(NamedTuple):
    group_id: str
    generation: int
    member_id: str
    instance_id: str | None
    protocol_type: str | None
    protocol_name: str | None
    assignments: dict[str, bytes]
    """By member id; empty unless the caller leads."""


class Synced(NamedTuple):
    protocol_type: str | None
    protocol_name: str | None
    assignment: bytes


class Heartbeat(NamedTuple):
    """Answered with None."""

    group_id: str
    generation: int
    member_id: str
    instance_id: str | None


class LeavingMember(NamedTuple):
    member_id: str
    instance_id: str | None


class LeaveGroup(NamedTuple):
    """Answered with one ``HeadraceError | None`` per member, in the order given."""

    group_id: str
    members: tuple[LeavingMember, ...]


# --- offsets, common to all kinds ---------------------------------------------------------------


class OffsetToCommit(NamedTuple):
    partition: TopicPartition
    offset: int
    leader_epoch: int
    metadata: str
    topic_id: TopicId = NO_TOPIC_ID


class CommitOffsets(NamedTuple):
    """Answered with one ``HeadraceError | None`` per offset, in the order given."""

    group_id: str
    member_id: str
    instance_id: str | None
    generation: int
    """Generation of a classic member, epoch of a consumer one."""
    offsets: list[OffsetToCommit]
    retention_ms: int | None = None
    is_epoch_checked: bool = True
    """False: the caller's protocol version cannot carry a member epoch (KIP-848)."""


class CommitTransactionalOffsets(NamedTuple):
    """Offsets that count when the producer's transaction commits. Answered as CommitOffsets."""

    group_id: str
    member_id: str
    instance_id: str | None
    generation: int
    """As in CommitOffsets. A producer may name neither member nor generation (KIP-447)."""
    offsets: list[OffsetToCommit]
    producer_id: int
    producer_epoch: int


class FetchOffsets(NamedTuple):
    """Answered with ``list[FetchedOffset]``: the partitions asked for, or all with an offset."""

    group_id: str
    partitions: list[TopicPartition] | None
    member_id: str | None = None
    member_epoch: int = NO_GENERATION
    require_stable: bool = False
    topic_ids: Mapping[str, TopicId] = NO_TOPIC_IDS
    """An offset committed to a topic of another id, deleted since, is not shown."""


class FetchedOffset(NamedTuple):
    partition: TopicPartition
    offset: int
    leader_epoch: int
    metadata: str
    is_unstable: bool = False


class ForgetTopic(NamedTuple):
    """The topic was deleted, and with it go all offsets. Answered with the number of them."""

    topic: str


class DeleteOffsets(NamedTuple):
    """Answered with one ``HeadraceError | None`` per partition, in the order given."""

    group_id: str
    partitions: list[TopicPartition]


# --- administration -----------------------------------------------------------------------------


class DescribeGroup(NamedTuple):
    """Answered with DescribedGroup; GroupNotFound unless it is a classic group."""

    group_id: str


class DescribedMember(NamedTuple):
    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    metadata: bytes
    assignment: bytes


class DescribedGroup(NamedTuple):
    group_id: str
    state: str
    protocol_type: str
    protocol_name: str
    members: tuple[DescribedMember, ...]


class ListGroups(NamedTuple):
    """Answered with ``list[ListedGroup]``. Names are compared without case; empty: no filter."""

    states: frozenset[str] = frozenset()
    kinds: frozenset[str] = frozenset()


class ListedGroup(NamedTuple):
    group_id: str
    protocol_type: str
    state: str
    kind: GroupKind


class DeleteGroup(NamedTuple):
    """Answered with None. Deletes the group's offsets too."""

    group_id: str
