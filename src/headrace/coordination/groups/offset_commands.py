"""Committing, fetching and deleting offsets, for groups of any kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.coordination.groups.commands import (
    CommitOffsets,
    DeleteOffsets,
    FetchedOffset,
    FetchOffsets,
    ForgetTopic,
)
from headrace.coordination.groups.record_codecs import offset_record, offset_tombstone
from headrace.coordination.groups.records import (
    LEGACY_OFFSET_KEY,
    NO_TIMESTAMP,
    OFFSET_KEY,
    CommittedOffset,
)
from headrace.coordination.groups.simple_groups import ensure_group
from headrace.coordination.shard import Decision, answer
from headrace.model.errors import (
    GroupNotFound,
    GroupSubscribedToTopic,
    HeadraceError,
    IllegalGeneration,
    InvalidCommittedOffsetSize,
    OffsetMetadataTooLarge,
)
from headrace.model.topic import NO_TOPIC_ID
from headrace.records.build import build_batch
from headrace.records.header import HEADER_SIZE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from headrace.coordination.groups.registry import GroupRegistry
    from headrace.coordination.shard import CoordinatorRecord, Token
    from headrace.model.topic import TopicId, TopicPartition

NO_OFFSET = -1
UNKNOWN_LEADER_EPOCH = -1
UTF8_BYTES_PER_CHARACTER_MAX = 4
RECORD_OVERHEAD_BYTES_MAX = 24
"""Of a record of the same time as its batch: five lengths and numbers, three single bytes."""


class OffsetCommands:
    """A GroupEngine (see ``registry.py``)."""

    def __init__(self, registry: GroupRegistry) -> None:
        self._registry = registry
        self._groups = registry.groups
        self._offsets = registry.offsets
        self._is_loading = True

    def deciders(self) -> Mapping[type, Callable[[Any, Token, int], Decision]]:
        return {
            CommitOffsets: self._commit,
            FetchOffsets: self._fetch,
            DeleteOffsets: self._delete,
            ForgetTopic: self._forget_topic,
        }

    def replayers(self) -> Mapping[int, Callable[[bytes, bytes | None], None]]:
        return {LEGACY_OFFSET_KEY: self._replay_offset, OFFSET_KEY: self._replay_offset}

    def loaded(self, now_ms: int) -> None:
        """Which kind of group the offsets belong to is known only when the whole log is read."""
        self._is_loading = False
        for group_id in self._offsets.group_ids():
            ensure_group(self._registry, group_id)

    def _replay_offset(self, key: bytes, value: bytes | None) -> None:
        group_id = self._offsets.replay(key, value)
        if group_id is not None and not self._is_loading:
            ensure_group(self._registry, group_id)

    # --- commit ---------------------------------------------------------------------------------

    def _commit(self, command: CommitOffsets, token: Token, now_ms: int) -> Decision:
        """Warm."""
        group_id = command.group_id
        self._raise_if_not_allowed(command, now_ms)
        expire_ms = NO_TIMESTAMP
        if command.retention_ms is not None:
            expire_ms = now_ms + command.retention_ms
        metadata_bytes_max = self._registry.settings.offset_metadata_bytes_max
        records = []
        outcomes: list[HeadraceError | None] = []
        for partition, offset, leader_epoch, metadata, topic_id in command.offsets:
            refusal = maybe_metadata_refusal(metadata, metadata_bytes_max)
            outcomes.append(refusal)
            if refusal is not None:
                continue
            committed = CommittedOffset(offset, leader_epoch, metadata, now_ms, expire_ms, topic_id)
            records.append(offset_record(group_id, partition, committed))
        raise_if_commit_too_large(records, self._registry.commit_bytes_max())
        return Decision(records, [(token, outcomes)])

    def _raise_if_not_allowed(self, command: CommitOffsets, now_ms: int) -> None:
        group = self._groups.get(command.group_id)
        if group is not None:
            group.validate_offset_commit(
                command.member_id,
                command.instance_id,
                command.generation,
                is_epoch_checked=command.is_epoch_checked,
            )
            group.keep_alive(command.member_id, now_ms)
        elif command.generation >= 0:
            # Only callers that may be of either kind understand that there is no such group.
            missing = GroupNotFound if command.is_epoch_checked else IllegalGeneration
            raise missing(f"there is no group {command.group_id!r}")

    # --- fetch ----------------------------------------------------------------------------------

    def _fetch(self, command: FetchOffsets, token: Token, now_ms: int) -> Decision:
        group = self._groups.get(command.group_id)
        if group is not None:
            group.validate_offset_fetch(command.member_id, command.member_epoch)
        elif command.member_epoch >= 0:
            raise GroupNotFound(f"there is no group {command.group_id!r}")
        offsets = self._offsets.of_group(command.group_id)
        if command.partitions is None:
            all_fetched = [_fetched(each, offsets[each]) for each in sorted(offsets)]
            return answer(token, self._marked_unstable(command, all_fetched))
        topic_ids = command.topic_ids
        fetched = []
        for partition in command.partitions:
            committed = offsets.get(partition)
            if committed is None or _is_of_other_topic(
                committed.topic_id, topic_ids.get(partition.topic, NO_TOPIC_ID)
            ):
                fetched.append(_nothing(partition))
            else:
                fetched.append(_fetched(partition, committed))
        return answer(token, self._marked_unstable(command, fetched))

    def _marked_unstable(
        self, command: FetchOffsets, fetched: list[FetchedOffset]
    ) -> list[FetchedOffset]:
        """Where a transaction is open, nobody can say yet how far the group has read (KIP-447)."""
        pending = self._offsets.pending
        if not command.require_stable or not pending.has_group(command.group_id):
            return fetched
        return [
            _nothing(each.partition, is_unstable=True)
            if pending.has(command.group_id, each.partition)
            else each
            for each in fetched
        ]

    # --- delete ---------------------------------------------------------------------------------

    def _delete(self, command: DeleteOffsets, token: Token, now_ms: int) -> Decision:
        group = self._groups.get(command.group_id)
        if group is None:
            raise GroupNotFound(f"there is no group {command.group_id!r}")
        group.validate_offset_delete()
        present = set(self._offsets.partitions_of(command.group_id))
        records = []
        outcomes: list[HeadraceError | None] = []
        for partition in command.partitions:
            if group.is_subscribed_to(partition.topic):
                outcomes.append(
                    GroupSubscribedToTopic(f"the group is subscribed to {partition.topic!r}")
                )
                continue
            outcomes.append(None)
            if partition in present:
                records.append(offset_tombstone(command.group_id, partition))
        return Decision(records, [(token, outcomes)])

    def _forget_topic(self, command: ForgetTopic, token: Token, now_ms: int) -> Decision:
        records = [
            offset_tombstone(group_id, partition)
            for group_id in self._offsets.all_group_ids()
            for partition in self._offsets.partitions_of(group_id)
            if partition.topic == command.topic
        ]
        return Decision(records, [(token, len(records))])


def maybe_metadata_refusal(metadata: str, bytes_max: int) -> OffsetMetadataTooLarge | None:
    if len(metadata) * UTF8_BYTES_PER_CHARACTER_MAX <= bytes_max:
        return None
    if len(metadata.encode()) <= bytes_max:
        return None
    return OffsetMetadataTooLarge(f"metadata is longer than {bytes_max} bytes")


def raise_if_commit_too_large(records: Sequence[CoordinatorRecord], bytes_max: int) -> None:
    """All offsets of a commit go into one batch, or none does."""
    size_bytes = len(records) * RECORD_OVERHEAD_BYTES_MAX + HEADER_SIZE
    for record in records:
        size_bytes += len(record[0]) + len(record[1] or b"")
    if size_bytes > bytes_max:
        _raise_if_batch_too_large(records, bytes_max)


def _raise_if_batch_too_large(records: Sequence[CoordinatorRecord], bytes_max: int) -> None:
    """Slow and exact."""
    size_bytes = len(build_batch([(record[0], record[1]) for record in records], timestamp_ms=0))
    if size_bytes > bytes_max:
        raise InvalidCommittedOffsetSize(
            f"the commit takes {size_bytes} bytes, the groups' topic takes {bytes_max}"
        )


def _fetched(partition: TopicPartition, committed: CommittedOffset) -> FetchedOffset:
    return FetchedOffset(partition, committed.offset, committed.leader_epoch, committed.metadata)


def _nothing(partition: TopicPartition, *, is_unstable: bool = False) -> FetchedOffset:
    return FetchedOffset(partition, NO_OFFSET, UNKNOWN_LEADER_EPOCH, "", is_unstable)


def _is_of_other_topic(committed_id: TopicId, asked_id: TopicId) -> bool:
    is_known = committed_id != NO_TOPIC_ID and asked_id != NO_TOPIC_ID
    return is_known and committed_id != asked_id
