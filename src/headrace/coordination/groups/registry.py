"""What the kinds of group share: the groups by id, committed offsets, deadlines and settings.

A group id belongs to one group of one kind. An empty group may be replaced by one of the other
kind: whoever does so writes ``group.tombstones()`` of the old one before the records of the new.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from headrace.coordination.groups.deadlines import Deadlines
from headrace.coordination.groups.offsets import Offsets

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headrace.coordination.groups.commands import GroupKind, ListedGroup
    from headrace.coordination.shard import CoordinatorRecord, Decision, Token


class Group(Protocol):
    """What the common parts (offsets, expiry, administration) ask of a group of any kind."""

    group_id: str
    kind: GroupKind

    @property
    def members(self) -> Mapping[str, object]:
        """By member id."""

    def is_empty(self) -> bool:
        """No member, and none that may yet appear."""

    def listed(self) -> ListedGroup: ...

    def validate_offset_commit(
        self, member_id: str, instance_id: str | None, epoch: int, *, is_epoch_checked: bool
    ) -> None:
        """Raise if an offset must not be taken from this member at this generation or epoch."""

    def validate_transactional_commit(
        self, member_id: str, instance_id: str | None, epoch: int
    ) -> None:
        """As ``validate_offset_commit``, of a producer: it may name no member at all (KIP-447)."""

    def validate_offset_delete(self) -> None:
        """Raise if no offset at all may be deleted now; ``is_subscribed_to`` is asked next."""

    def validate_offset_fetch(self, member_id: str | None, epoch: int) -> None:
        """Raise if the member must not see offsets at this epoch (KIP-848 only)."""

    def keep_alive(self, member_id: str, now_ms: int) -> None:
        """A valid commit came from this member: it lives (classic groups extend the session)."""

    def is_subscribed_to(self, topic: str) -> bool:
        """Its offsets of this topic must neither be deleted nor expire (KIP-211)."""

    def offset_unused_since_ms(self, commit_timestamp_ms: int) -> int | None:
        """From when retention counts for an offset committed then; None: it does not (KIP-211).

        Asked for topics that the group is not subscribed to.
        """

    def tombstones(self) -> list[CoordinatorRecord]:
        """The records which, replayed, remove the group (not its offsets)."""


class GroupEngine(Protocol):
    """One kind of group: which commands it decides and which records it replays."""

    def deciders(self) -> Mapping[type, Callable[[Any, Token, int], Decision]]:
        """By the type of the command."""

    def replayers(self) -> Mapping[int, Callable[[bytes, bytes | None], None]]:
        """By the version that opens a record's key; called with the whole key and the value."""

    def loaded(self, now_ms: int) -> None:
        """The log has been replayed: start the deadlines of the members found in it."""


@dataclass(frozen=True, slots=True)
class GroupSettings:
    """The broker's settings that groups obey."""

    session_timeout_ms_min: int = 6_000
    session_timeout_ms_max: int = 1_800_000
    initial_rebalance_delay_ms: int = 3_000
    new_member_join_timeout_ms: int = 300_000
    classic_size_max: int = 2_147_483_647
    offset_metadata_bytes_max: int = 4_096
    offsets_retention_ms: int = 7 * 24 * 3_600_000
    offsets_retention_check_interval_ms: int = 600_000
    consumer_session_timeout_ms: int = 45_000
    consumer_heartbeat_interval_ms: int = 5_000
    consumer_size_max: int = 2_147_483_647
    consumer_assignors: tuple[str, ...] = ("uniform", "range")


COMMIT_BYTES_MAX = 1_048_588
"""Kafka's default of max.message.bytes."""


@dataclass(slots=True)
class GroupRegistry:
    """Shared by the engines of one coordinator shard."""

    settings: GroupSettings
    new_id: Callable[[], str]
    """A fresh random UUID as text; chance is passed in, like time."""
    commit_bytes_max: Callable[[], int] = lambda: COMMIT_BYTES_MAX
    """The largest batch that the log of this shard takes now (max.message.bytes)."""
    groups: dict[str, Group] = field(default_factory=dict)
    deadlines: Deadlines = field(default_factory=Deadlines)
    offsets: Offsets = field(default_factory=Offsets)
