"""The records of consumer groups in ``__consumer_offsets``, byte for byte as Kafka 4.3 writes them.

A key opens with its kind and is not flexible; a value opens with version 0 and is. Per group:
epoch, epoch of the target assignment, resolved patterns; per member: what it subscribed to, its
target, and what it owns. Tagged fields of a newer Kafka are skipped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headrace.coordination.groups.consumer_member import Member, MemberState, OwnedPartitions
from headrace.coordination.shard import CoordinatorRecord
from headrace.model.errors import CorruptRecord
from headrace.records.wire import Reader, Writer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.coordination.groups.assignors import Assignment
    from headrace.model.topic import TopicId

GROUP_EPOCH_KEY = 3
PARTITION_METADATA_KEY = 4
"""Superseded by the digest beside the group epoch (KIP-1101): never written, deleted when met."""
MEMBER_KEY = 5
TARGET_EPOCH_KEY = 6
TARGET_MEMBER_KEY = 7
CURRENT_ASSIGNMENT_KEY = 8
PATTERN_KEY = 16

VALUE_VERSION = 0
_HASH_TAG = 0
_TIMESTAMP_TAG = 0
_EPOCHS_TAG = 0


class GroupEpoch(NamedTuple):
    epoch: int
    metadata_hash: int = 0


class TargetEpoch(NamedTuple):
    epoch: int
    timestamp_ms: int = 0


class ResolvedPattern(NamedTuple):
    topic_names: frozenset[str]
    catalogue_version: int
    timestamp_ms: int


class CurrentAssignment(NamedTuple):
    epoch: int
    previous_epoch: int
    state: MemberState
    assigned: OwnedPartitions
    revoking: OwnedPartitions


# --- keys ---------------------------------------------------------------------------------------


def _key(kind: int, *names: str) -> bytes:
    writer = Writer().int16(kind)
    for name in names:
        writer.string(name)
    return writer.to_bytes()


def read_group_key(key: bytes) -> str:
    reader = _after_kind(key)
    group_id = reader.string()
    reader.raise_if_remaining()
    return group_id


def read_member_key(key: bytes) -> tuple[str, str]:
    """Group and member; also group and pattern, which looks the same."""
    reader = _after_kind(key)
    names = reader.string(), reader.string()
    reader.raise_if_remaining()
    return names


def _after_kind(key: bytes) -> Reader:
    reader = Reader(key)
    reader.int16()
    return reader


# --- writing ------------------------------------------------------------------------------------


def group_epoch_record(group_id: str, value: GroupEpoch) -> CoordinatorRecord:
    writer = _value().int32(value.epoch)
    tags = {_HASH_TAG: _int64(value.metadata_hash)} if value.metadata_hash else None
    return CoordinatorRecord(_key(GROUP_EPOCH_KEY, group_id), writer.tagged_fields(tags).to_bytes())


def member_record(group_id: str, member: Member) -> CoordinatorRecord:
    writer = _value()
    writer.compact_string(member.instance_id)
    writer.compact_string(member.rack_id)
    writer.compact_string(member.client_id)
    writer.compact_string(member.client_host)
    writer.compact_array(sorted(member.topic_names), writer.compact_string)
    writer.compact_string(member.pattern)
    writer.int32(member.rebalance_timeout_ms)
    writer.compact_string(member.assignor)
    writer.tagged_fields()
    return CoordinatorRecord(_key(MEMBER_KEY, group_id, member.member_id), writer.to_bytes())


def target_epoch_record(group_id: str, value: TargetEpoch) -> CoordinatorRecord:
    writer = _value().int32(value.epoch)
    tags = {_TIMESTAMP_TAG: _int64(value.timestamp_ms)} if value.timestamp_ms else None
    return CoordinatorRecord(
        _key(TARGET_EPOCH_KEY, group_id), writer.tagged_fields(tags).to_bytes()
    )


def target_member_record(
    group_id: str, member_id: str, target: Mapping[TopicId, frozenset[int]]
) -> CoordinatorRecord:
    writer = _value().uvarint(len(target) + 1)
    for topic_id in sorted(target):
        partitions = sorted(target[topic_id])
        writer.uuid(topic_id).compact_array(partitions, writer.int32).tagged_fields()
    writer.tagged_fields()
    return CoordinatorRecord(_key(TARGET_MEMBER_KEY, group_id, member_id), writer.to_bytes())


def current_assignment_record(group_id: str, member: Member) -> CoordinatorRecord:
    writer = _value().int32(member.epoch).int32(member.previous_epoch).int8(member.state)
    _write_owned(writer, member.assigned)
    _write_owned(writer, member.revoking)
    writer.tagged_fields()
    key = _key(CURRENT_ASSIGNMENT_KEY, group_id, member.member_id)
    return CoordinatorRecord(key, writer.to_bytes())


def pattern_record(group_id: str, pattern: str, value: ResolvedPattern) -> CoordinatorRecord:
    writer = _value()
    writer.compact_array(sorted(value.topic_names), writer.compact_string)
    writer.int64(value.catalogue_version).int64(value.timestamp_ms).tagged_fields()
    return CoordinatorRecord(_key(PATTERN_KEY, group_id, pattern), writer.to_bytes())


def _write_owned(writer: Writer, owned: OwnedPartitions) -> None:
    writer.uvarint(len(owned) + 1)
    for topic_id in sorted(owned):
        partitions = sorted(owned[topic_id])
        epochs = Writer()
        epochs.compact_array([owned[topic_id][p] for p in partitions], epochs.int32)
        writer.uuid(topic_id).compact_array(partitions, writer.int32)
        writer.tagged_fields({_EPOCHS_TAG: epochs.to_bytes()})


def _value() -> Writer:
    return Writer().int16(VALUE_VERSION)


def _int64(value: int) -> bytes:
    return Writer().int64(value).to_bytes()


# --- tombstones ---------------------------------------------------------------------------------


def member_tombstones(group_id: str, member_id: str) -> list[CoordinatorRecord]:
    """Everything about a member; what it owns first, as Kafka's replay demands."""
    return [
        CoordinatorRecord(_key(kind, group_id, member_id), None)
        for kind in (CURRENT_ASSIGNMENT_KEY, TARGET_MEMBER_KEY, MEMBER_KEY)
    ]


def pattern_tombstone(group_id: str, pattern: str) -> CoordinatorRecord:
    return CoordinatorRecord(_key(PATTERN_KEY, group_id, pattern), None)


def partition_metadata_tombstone(group_id: str) -> CoordinatorRecord:
    return CoordinatorRecord(_key(PARTITION_METADATA_KEY, group_id), None)


def target_epoch_tombstone(group_id: str) -> CoordinatorRecord:
    return CoordinatorRecord(_key(TARGET_EPOCH_KEY, group_id), None)


def group_epoch_tombstone(group_id: str) -> CoordinatorRecord:
    return CoordinatorRecord(_key(GROUP_EPOCH_KEY, group_id), None)


# --- reading ------------------------------------------------------------------------------------


def read_group_epoch(value: bytes) -> GroupEpoch:
    reader = _open(value)
    epoch = reader.int32()
    return GroupEpoch(epoch, _tagged_int64(reader, _HASH_TAG))


def read_member(member_id: str, value: bytes) -> Member:
    """The member with its subscription alone: what it owns is a record of its own.

    A tagged field tells of members that came from a classic group (KIP-848, online migration). They
    are read as consumers, and stay only if they come back as such within their session.
    """
    reader = _open(value)
    return Member(
        member_id=member_id,
        instance_id=reader.compact_nullable_string(),
        rack_id=reader.compact_nullable_string(),
        client_id=reader.compact_string(),
        client_host=reader.compact_string(),
        topic_names=frozenset(reader.compact_array(reader.compact_string)),
        pattern=reader.compact_nullable_string() or "",
        rebalance_timeout_ms=reader.int32(),
        assignor=reader.compact_nullable_string(),
    )


def read_target_epoch(value: bytes) -> TargetEpoch:
    reader = _open(value)
    epoch = reader.int32()
    return TargetEpoch(epoch, _tagged_int64(reader, _TIMESTAMP_TAG))


def read_target_member(value: bytes) -> Assignment:
    reader = _open(value)

    def topic() -> tuple[TopicId, frozenset[int]]:
        entry = reader.uuid(), frozenset(reader.compact_array(reader.int32))
        reader.tagged_fields()
        return entry

    return dict(reader.compact_array(topic))


def read_current_assignment(value: bytes) -> CurrentAssignment:
    reader = _open(value)
    epoch, previous_epoch, state = reader.int32(), reader.int32(), reader.int8()
    return CurrentAssignment(
        epoch,
        previous_epoch,
        MemberState(state),
        _read_owned(reader, epoch),
        _read_owned(reader, epoch),
    )


def read_pattern(value: bytes) -> ResolvedPattern:
    reader = _open(value)
    names = frozenset(reader.compact_array(reader.compact_string))
    return ResolvedPattern(names, reader.int64(), reader.int64())


def _read_owned(reader: Reader, member_epoch: int) -> OwnedPartitions:
    """Records of before KIP-1251 lack the epochs: the member's own then stands for all."""

    def topic() -> tuple[TopicId, dict[int, int]]:
        topic_id, partitions = reader.uuid(), reader.compact_array(reader.int32)
        tagged = reader.tagged_fields().get(_EPOCHS_TAG)
        epochs = None
        if tagged is not None:
            epoch_reader = Reader(tagged)
            epochs = epoch_reader.compact_nullable_array(epoch_reader.int32)
        if epochs is None:
            return topic_id, dict.fromkeys(partitions, member_epoch)
        if len(epochs) != len(partitions):
            raise CorruptRecord(f"{len(partitions)} partitions with {len(epochs)} epochs")
        return topic_id, dict(zip(partitions, epochs, strict=True))

    return dict(reader.compact_array(topic))


def _open(value: bytes) -> Reader:
    reader = Reader(value)
    version = reader.int16()
    if version != VALUE_VERSION:
        raise CorruptRecord(f"version {version} of a consumer group record is not known")
    return reader


def _tagged_int64(reader: Reader, tag: int) -> int:
    field = reader.tagged_fields().get(tag)
    return 0 if field is None else Reader(field).int64()
