"""Bytes of the records in ``records.py``, exactly as Kafka writes them.

Read: every version there has ever been. Written: what Kafka 4.3 writes, that is version 4 for
offsets (1 if a client set an expiry time, which only that version can hold), 3 for groups.
Offsets are warm, every commit is written and replayed, so their bytes are put together by hand.
"""

from __future__ import annotations

from struct import Struct
from struct import error as StructError

from headrace.coordination.groups.records import (
    GROUP_KEY,
    NO_TIMESTAMP,
    OFFSET_KEY,
    CommittedOffset,
    StoredGroup,
    StoredMember,
)
from headrace.coordination.shard import CoordinatorRecord
from headrace.model.errors import CorruptRecord
from headrace.model.topic import NO_TOPIC_ID, TopicPartition
from headrace.records.wire import Reader, Writer

GROUP_VERSION_WRITTEN = 3
OFFSET_VERSION_WRITTEN = 4
OFFSET_VERSION_WITH_EXPIRY = 1
VERSION_MAX = 4
FLEXIBLE_FROM = 4

NAME_BYTES_MAX = 32_767
"""What a string field of the older, not flexible versions can hold."""

_SHORT = Struct(">h")
_INT = Struct(">i")
_LONG = Struct(">q")
_KEY_HEAD = Struct(">hh")
_OFFSET_HEAD = Struct(">hqi")
_PLAIN_OFFSET_BYTES_MIN = _OFFSET_HEAD.size + 1 + _LONG.size + 1
"""Head, length of the metadata, timestamp, count of tagged fields."""
_ONE_BYTE_VARINT_MAX = 0x7F
_NO_TAGS = b"\x00"
_TOPIC_ID_TAG = 0
_TOPIC_ID_TAG_HEAD = b"\x01\x00\x10"
"""One tagged field: tag 0, sixteen bytes."""
_UNKNOWN_LEADER_EPOCH = -1


# --- offsets ------------------------------------------------------------------------------------


def offset_key(group_id: str, partition: TopicPartition) -> bytes:
    group, topic = group_id.encode(), partition.topic.encode()
    return b"".join(
        (
            _KEY_HEAD.pack(OFFSET_KEY, len(group)),
            group,
            _SHORT.pack(len(topic)),
            topic,
            _INT.pack(partition.partition),
        )
    )


def offset_record(
    group_id: str, partition: TopicPartition, committed: CommittedOffset
) -> CoordinatorRecord:
    key = offset_key(group_id, partition)
    if committed.expire_timestamp_ms != NO_TIMESTAMP:
        return CoordinatorRecord(key, _offset_with_expiry(committed))
    metadata = committed.metadata.encode()
    length = len(metadata) + 1
    has_topic_id = committed.topic_id != NO_TOPIC_ID
    value = b"".join(
        (
            _OFFSET_HEAD.pack(OFFSET_VERSION_WRITTEN, committed.offset, committed.leader_epoch),
            bytes((length,)) if length <= _ONE_BYTE_VARINT_MAX else _uvarint(length),
            metadata,
            _LONG.pack(committed.commit_timestamp_ms),
            _TOPIC_ID_TAG_HEAD + committed.topic_id if has_topic_id else _NO_TAGS,
        )
    )
    return CoordinatorRecord(key, value)


def offset_tombstone(group_id: str, partition: TopicPartition) -> CoordinatorRecord:
    return CoordinatorRecord(offset_key(group_id, partition), None)


def read_offset_key(key: bytes) -> tuple[str, TopicPartition]:
    try:
        topic_at = _KEY_HEAD.size + _SHORT.unpack_from(key, 2)[0]
        partition_at = topic_at + _SHORT.size + _SHORT.unpack_from(key, topic_at)[0]
        (partition,) = _INT.unpack_from(key, partition_at)
        topic = key[topic_at + _SHORT.size : partition_at].decode()
        return key[_KEY_HEAD.size : topic_at].decode(), TopicPartition(topic, partition)
    except (StructError, UnicodeDecodeError) as error:
        raise CorruptRecord(f"the key of an offset record cannot be read: {error}") from error


def read_offset(value: bytes) -> CommittedOffset:
    maybe = _maybe_read_plain_offset(value)
    return _read_any_offset(value) if maybe is None else maybe


def _maybe_read_plain_offset(value: bytes) -> CommittedOffset | None:
    """The shape that nearly every record has: as written now, metadata short, no topic id."""
    if len(value) < _PLAIN_OFFSET_BYTES_MIN:
        return None
    version, offset, leader_epoch = _OFFSET_HEAD.unpack_from(value)
    length = value[_OFFSET_HEAD.size]
    end = _PLAIN_OFFSET_BYTES_MIN + length - 1
    is_plain = version == OFFSET_VERSION_WRITTEN and 1 <= length <= _ONE_BYTE_VARINT_MAX
    if not is_plain or end != len(value) or value[-1] != 0:
        return None
    try:
        metadata = value[_OFFSET_HEAD.size + 1 : end - _LONG.size - 1].decode()
    except UnicodeDecodeError as error:
        raise CorruptRecord(f"the metadata of an offset is not text: {error}") from error
    (timestamp_ms,) = _LONG.unpack_from(value, end - _LONG.size - 1)
    return CommittedOffset(offset, leader_epoch, metadata, timestamp_ms)


def _read_any_offset(value: bytes) -> CommittedOffset:
    reader = Reader(value)
    version = _read_version(reader)
    is_flexible = version >= FLEXIBLE_FROM
    committed = CommittedOffset(
        offset=reader.int64(),
        leader_epoch=reader.int32() if version >= 3 else _UNKNOWN_LEADER_EPOCH,
        metadata=reader.compact_string() if is_flexible else reader.string(),
        commit_timestamp_ms=reader.int64(),
        expire_timestamp_ms=reader.int64() if version == 1 else NO_TIMESTAMP,
    )
    topic_id = reader.tagged_fields().get(_TOPIC_ID_TAG) if is_flexible else None
    return committed if topic_id is None else committed._replace(topic_id=topic_id)


def _offset_with_expiry(committed: CommittedOffset) -> bytes:
    writer = Writer().int16(OFFSET_VERSION_WITH_EXPIRY).int64(committed.offset)
    writer.string(committed.metadata)
    writer.int64(committed.commit_timestamp_ms).int64(committed.expire_timestamp_ms)
    return writer.to_bytes()


def _uvarint(value: int) -> bytes:
    return Writer().uvarint(value).to_bytes()


# --- groups -------------------------------------------------------------------------------------


def group_key(group_id: str) -> bytes:
    return Writer().int16(GROUP_KEY).string(group_id).to_bytes()


def group_record(group_id: str, group: StoredGroup) -> CoordinatorRecord:
    writer = Writer().int16(GROUP_VERSION_WRITTEN).string(group.protocol_type)
    writer.int32(group.generation).string(group.protocol_name).string(group.leader_id)
    writer.int64(group.state_timestamp_ms).int32(len(group.members))
    for member in group.members:
        writer.string(member.member_id).string(member.instance_id)
        writer.string(member.client_id).string(member.client_host)
        writer.int32(member.rebalance_timeout_ms).int32(member.session_timeout_ms)
        writer.binary(member.subscription).binary(member.assignment)
    return CoordinatorRecord(group_key(group_id), writer.to_bytes())


def group_tombstone(group_id: str) -> CoordinatorRecord:
    return CoordinatorRecord(group_key(group_id), None)


def read_group_key(key: bytes) -> str:
    return Reader(key, position=_SHORT.size).string()


def read_group(value: bytes) -> StoredGroup:
    """Bytes after what is known are left alone: newer brokers add tagged fields (KIP-915)."""
    reader = Reader(value)
    version = _read_version(reader)
    is_flexible = version >= FLEXIBLE_FROM
    read_string = reader.compact_string if is_flexible else reader.string
    read_nullable = reader.compact_nullable_string if is_flexible else reader.nullable_string
    read_array = reader.compact_array if is_flexible else reader.array
    return StoredGroup(
        protocol_type=read_string(),
        generation=reader.int32(),
        protocol_name=read_nullable(),
        leader_id=read_nullable(),
        state_timestamp_ms=reader.int64() if version >= 2 else NO_TIMESTAMP,
        members=tuple(read_array(lambda: _read_member(reader, version))),
    )


def _read_member(reader: Reader, version: int) -> StoredMember:
    is_flexible = version >= FLEXIBLE_FROM
    read_string = reader.compact_string if is_flexible else reader.string
    read_nullable = reader.compact_nullable_string if is_flexible else reader.nullable_string
    read_binary = reader.compact_binary if is_flexible else reader.binary
    member = StoredMember(
        member_id=read_string(),
        instance_id=read_nullable() if version >= 3 else None,
        client_id=read_string(),
        client_host=read_string(),
        rebalance_timeout_ms=reader.int32() if version >= 1 else -1,
        session_timeout_ms=reader.int32(),
        subscription=read_binary(),
        assignment=read_binary(),
    )
    if is_flexible:
        reader.tagged_fields()
    if member.rebalance_timeout_ms < 0:
        # Before there was a rebalance time-out, the session's served as such.
        return member._replace(rebalance_timeout_ms=member.session_timeout_ms)
    return member


def _read_version(reader: Reader) -> int:
    version = reader.int16()
    if not 0 <= version <= VERSION_MAX:
        raise CorruptRecord(f"a record of a group has the unknown version {version}")
    return version
