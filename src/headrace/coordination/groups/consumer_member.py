"""One member of a consumer group, as its records describe it. A value: changed by replacing it."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from headrace.model.topic import TopicId

if TYPE_CHECKING:
    from collections.abc import Mapping

JOIN_EPOCH = 0
LEAVE_EPOCH = -1
STATIC_LEAVE_EPOCH = -2
"""A static member went away and may come back, under another member id, within its session."""

NO_REBALANCE_TIMEOUT = -1

OwnedPartitions = dict[TopicId, dict[int, int]]
"""Partitions by topic, each with the epoch in which the member got it."""


class MemberState(IntEnum):
    """Kafka's numbers: they are stored."""

    STABLE = 0
    """At the epoch of its target, as far as it went: nothing to wait for."""
    UNREVOKED_PARTITIONS = 1
    """It was told to give partitions up and has not said yet that it did."""
    UNRELEASED_PARTITIONS = 2
    """Partitions of its target still belong to others."""
    UNKNOWN = 127
    """Written by a newer version: the member has to start over."""

    @classmethod
    def _missing_(cls, value: object) -> MemberState:
        return cls.UNKNOWN


class Member(NamedTuple):
    member_id: str
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topic_names: frozenset[str] = frozenset()
    pattern: str = ""
    """RE2; empty without one."""
    rebalance_timeout_ms: int = NO_REBALANCE_TIMEOUT
    assignor: str | None = None
    epoch: int = JOIN_EPOCH
    previous_epoch: int = JOIN_EPOCH
    state: MemberState = MemberState.STABLE
    assigned: OwnedPartitions = {}  # noqa: RUF012 - never mutated
    revoking: OwnedPartitions = {}  # noqa: RUF012 - never mutated

    def is_reconciled_to(self, target_epoch: int) -> bool:
        return self.state is MemberState.STABLE and self.epoch == target_epoch

    def has_left(self) -> bool:
        return self.epoch == STATIC_LEAVE_EPOCH

    def owns_no_more_than_assigned(self, owned: Mapping[TopicId, frozenset[int]] | None) -> bool:
        """Whether the client reports its partitions, and all of them are assigned to it."""
        if owned is None:
            return False
        nothing: dict[int, int] = {}
        return all(
            partitions <= self.assigned.get(topic_id, nothing).keys()
            for topic_id, partitions in owned.items()
        )
