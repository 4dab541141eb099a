"""Committing offsets within a transaction (KIP-98, KIP-447), for groups of any kind.

Whether the transaction is open, and whether the group's partition takes part in it, is not known
here: it is asked before, and the log refuses a producer whose epoch is gone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.coordination.groups.commands import CommitTransactionalOffsets
from headrace.coordination.groups.offset_commands import (
    maybe_metadata_refusal,
    raise_if_commit_too_large,
)
from headrace.coordination.groups.record_codecs import offset_record
from headrace.coordination.groups.records import LEGACY_OFFSET_KEY, OFFSET_KEY, CommittedOffset
from headrace.coordination.groups.simple_groups import ensure_group
from headrace.coordination.groups.transactional_records import PendingRecord
from headrace.coordination.shard import Decision
from headrace.model.errors import IllegalGeneration, StaleMemberEpoch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headrace.coordination.groups.registry import GroupRegistry
    from headrace.coordination.groups.transactional_records import TransactionEnded
    from headrace.coordination.shard import CoordinatorRecord, Token
    from headrace.model.errors import HeadraceError

KEY_VERSION_BYTES = 2
_OFFSET_KEYS = frozenset({LEGACY_OFFSET_KEY, OFFSET_KEY})


class TransactionalOffsets:
    """A GroupEngine (see ``registry.py``), to which the coordinator gives the parts of
    transactions beside."""

    def __init__(self, registry: GroupRegistry) -> None:
        self._registry = registry
        self._is_loading = True

    def deciders(self) -> Mapping[type, Callable[[Any, Token, int], Decision]]:
        return {CommitTransactionalOffsets: self._commit}

    def replayers(self) -> Mapping[int, Callable[[bytes, bytes | None], None]]:
        return {}

    def loaded(self, now_ms: int) -> None:
        """As with committed offsets, the kinds of the groups are known only now."""
        self._is_loading = False
        for group_id in self._registry.offsets.pending.group_ids():
            ensure_group(self._registry, group_id)

    # --- replay ---------------------------------------------------------------------------------

    def maybe_replay(self, record: PendingRecord) -> bool:
        """False: it is not an offset, so it does not wait for a marker. As in Kafka, which writes
        nothing else in transactions, neither do tombstones."""
        key, value = record
        if value is None or int.from_bytes(key[:KEY_VERSION_BYTES], "big") not in _OFFSET_KEYS:
            return False
        group_id = self._registry.offsets.replay_pending(record.producer_id, key, value)
        if not self._is_loading:
            ensure_group(self._registry, group_id)
        return True

    def replay_end(self, marker: TransactionEnded) -> None:
        self._registry.offsets.end_transaction(marker.producer_id, marker.is_commit)

    # --- commit ---------------------------------------------------------------------------------

    def _commit(self, command: CommitTransactionalOffsets, token: Token, now_ms: int) -> Decision:
        self._raise_if_not_allowed(command)
        metadata_bytes_max = self._registry.settings.offset_metadata_bytes_max
        records: list[CoordinatorRecord] = []
        outcomes: list[HeadraceError | None] = []
        for partition, offset, leader_epoch, metadata, topic_id in command.offsets:
            refusal = maybe_metadata_refusal(metadata, metadata_bytes_max)
            outcomes.append(refusal)
            if refusal is not None:
                continue
            pending = CommittedOffset(offset, leader_epoch, metadata, now_ms, topic_id=topic_id)
            record = offset_record(command.group_id, partition, pending)
            records.append(PendingRecord(*record, command.producer_id, command.producer_epoch))
        raise_if_commit_too_large(records, self._registry.commit_bytes_max())
        return Decision(records, [(token, outcomes)])

    def _raise_if_not_allowed(self, command: CommitTransactionalOffsets) -> None:
        """Producers know nothing of member epochs: to them, a stale one is an old generation."""
        group = self._registry.groups.get(command.group_id)
        if group is None:
            if command.generation >= 0:
                raise IllegalGeneration(f"there is no group {command.group_id!r}")
            return
        try:
            group.validate_transactional_commit(
                command.member_id, command.instance_id, command.generation
            )
        except StaleMemberEpoch as error:
            raise IllegalGeneration(error.message) from error
