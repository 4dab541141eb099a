"""Offsets that nobody uses any more expire, and empty groups without offsets go (KIP-211).

Every so often all groups are looked through, a bounded number of records per decision, so that
a great many expired offsets hold up nobody. What an open transaction may still commit stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.coordination.groups.record_codecs import offset_tombstone
from headrace.coordination.groups.records import NO_TIMESTAMP
from headrace.coordination.shard import Decision

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headrace.coordination.groups.records import CommittedOffset
    from headrace.coordination.groups.registry import Group, GroupRegistry
    from headrace.coordination.shard import CoordinatorRecord, Token
    from headrace.model.topic import TopicPartition

RECORDS_PER_DECISION_MAX = 1_000
GROUPS_PER_DECISION_MAX = 1_000
_KEY = "expiry"


class Expiry:
    """A GroupEngine (see ``registry.py``) without commands: it lives on deadlines alone."""

    def __init__(self, registry: GroupRegistry) -> None:
        self._registry = registry
        self._remaining_ids: list[str] = []

    def deciders(self) -> Mapping[type, Callable[[Any, Token, int], Decision]]:
        return {}

    def replayers(self) -> Mapping[int, Callable[[bytes, bytes | None], None]]:
        return {}

    def loaded(self, now_ms: int) -> None:
        self._look_again(now_ms)

    def _look_again(self, now_ms: int) -> None:
        due_ms = now_ms + self._registry.settings.offsets_retention_check_interval_ms
        self._registry.deadlines.set(_KEY, due_ms, self._expire_some)

    def _expire_some(self, now_ms: int) -> Decision:
        if not self._remaining_ids:
            self._remaining_ids = list(self._registry.groups)
        records: list[CoordinatorRecord] = []
        for _ in range(GROUPS_PER_DECISION_MAX):
            if not self._remaining_ids or len(records) >= RECORDS_PER_DECISION_MAX:
                break
            group = self._registry.groups.get(self._remaining_ids.pop())
            if group is not None:
                records += self._expired(group, now_ms)
        if self._remaining_ids:
            self._registry.deadlines.set(_KEY, now_ms, self._expire_some)
        else:
            self._look_again(now_ms)
        return Decision(records, [])

    def _expired(self, group: Group, now_ms: int) -> list[CoordinatorRecord]:
        offsets = self._registry.offsets.of_group(group.group_id)
        pending = self._registry.offsets.pending
        records = [
            offset_tombstone(group.group_id, partition)
            for partition, committed in offsets.items()
            if self._is_expired(group, partition, committed, now_ms)
            and not pending.has(group.group_id, partition)
        ]
        is_open = pending.has_group(group.group_id)
        if len(records) == len(offsets) and group.is_empty() and not is_open:
            records += group.tombstones()
        return records

    def _is_expired(
        self, group: Group, partition: TopicPartition, committed: CommittedOffset, now_ms: int
    ) -> bool:
        if group.is_subscribed_to(partition.topic):
            return False
        since_ms = group.offset_unused_since_ms(committed.commit_timestamp_ms)
        if since_ms is None:
            return False
        if committed.expire_timestamp_ms != NO_TIMESTAMP:
            return now_ms >= committed.expire_timestamp_ms
        return now_ms - since_ms >= self._registry.settings.offsets_retention_ms
