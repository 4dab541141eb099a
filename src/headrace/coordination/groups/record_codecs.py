"""Bytes of the records in ``records.py``, exactly as Kafka writes them.

Read: every version there has ever been. Written: what Kafka 4.3 writes, that is version 4 for offsets
(1 if a client set an expiry time, which only that version can hold) and version 3 for groups.
"""

from __future__ import annotations

from struct import Struct
from struct import error as StructError
from typing import TYPE_CHECKING, TypeVar

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

if TYPE_CHECKING:
    from collections.abc import Callable

_Value = TypeVar("_Value")

_SHORT = Struct(">h")
_INT = Struct(">i")
_LONG = Struct(">q")
_OFFSET_KEY_HEAD = Struct(">hh")
_OFFSET_HEAD_4 = Struct(">hqi")
_TOPIC_ID_TAG = b"\x01\x00\x10"
"""One tagged field: tag 0, sixteen bytes."""
_UNKNOWN_LEADER_EPOCH = -1
_VARINT_BYTES_MAX = 5

GROUP_VERSION_WRITTEN = 3
OFFSET_VERSION_WRITTEN = 4
OFFSET_VERSION_WITH_EXPIRY = 1
VALUE_VERSION_MAX = 4
FLEXIBLE_FROM = 4


# --- writing ------------------------------------------------------------------------------------


def group_key(group_id: str) -> bytes:
    return _SHORT.pack(GROUP_KEY) + _string(group_id)


def group_record(group_id: str, group: StoredGroup) -> CoordinatorRecord:
    parts = [
        _SHORT.pack(GROUP_VERSION_WRITTEN),
        _string(group.protocol_type),
        _INT.pack(group.generation),
        _nullable_string(group.protocol_name),
        _nullable_string(group.leader_id),
        _LONG.pack(group.state_timestamp_ms),
        _INT.pack(len(group.members)),
    ]
    for member in group.members:
        parts += (
            _string(member.member_id),
            _nullable_string(member.instance_id),
            _string(member.client_id),
            _string(member.client_host),
            _INT.pack(member.rebalance_timeout_ms),
            _INT.pack(member.session_timeout_ms),
            _bytes(member.subscription),
            _bytes(member.assignment),
        )
    return CoordinatorRecord(group_key(group_id), b"".join(parts))


def group_tombstone(group_id: str) -> CoordinatorRecord:
    return CoordinatorRecord(group_key(group_id), None)


def offset_key(group_id: str, partition: TopicPartition) -> bytes:
    group, topic = group_id.encode(), partition.topic.encode()
    return b"".join(
        (
            _OFFSET_KEY_HEAD.pack(OFFSET_KEY, len(group)),
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
    metadata = committed.metadata.encode()
    if committed.expire_timestamp_ms != NO_TIMESTAMP:
        value = b"".join(
            (
                _SHORT.pack(OFFSET_VERSION_WITH_EXPIRY),
                _LONG.pack(committed.offset),
                _SHORT.pack(len(metadata)),
                metadata,
                _LONG.pack(committed.commit_timestamp_ms),
                _LONG.pack(committed.expire_timestamp_ms),
            )
        )
        return CoordinatorRecord(key, value)
    has_topic_id = committed.topic_id != NO_TOPIC_ID
    value = b"".join(
        (
            _OFFSET_HEAD_4.pack(OFFSET_VERSION_WRITTEN, committed.offset, committed.leader_epoch),
            _unsigned_varint(len(metadata) + 1),
            metadata,
            _LONG.pack(committed.commit_timestamp_ms),
            _TOPIC_ID_TAG + committed.topic_id if has_topic_id else b"\x00",
        )
    )
    return CoordinatorRecord(key, value)


def offset_tombstone(group_id: str, partition: TopicPartition) -> CoordinatorRecord:
    return CoordinatorRecord(offset_key(group_id, partition), None)


def _string(text: str) -> bytes:
    data = text.encode()
    return _SHORT.pack(len(data)) + data


def _nullable_string(text: str | None) -> bytes:
    return b"\xff\xff" if text is None else _string(text)


def _bytes(data: bytes) -> bytes:
    return _INT.pack(len(data)) + data


def _unsigned_varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


# --- reading ------------------------------------------------------------------------------------


def read_group_key(key: bytes) -> str:
    return _decoded(key, lambda reader: reader.string())


def read_offset_key(key: bytes) -> tuple[str, TopicPartition]:
    """Warm: every commit is replayed."""
    try:
        topic_at = 4 + _SHORT.unpack_from(key, 2)[0]
        partition_at = topic_at + 2 + _SHORT.unpack_from(key, topic_at)[0]
        partition = _INT.unpack_from(key, partition_at)[0]
        topic = key[topic_at + 2 : partition_at].decode()
        return key[4:topic_at].decode(), TopicPartition(topic, partition)
    except (StructError, UnicodeDecodeError) as error:
        raise CorruptRecord(f"the key of an offset record cannot be read: {error}") from error


def read_offset(value: bytes) -> CommittedOffset:
    return _decoded(value, _read_offset_body)


def read_group(value: bytes) -> StoredGroup:
    return _decoded(value, _read_group_body)


def _read_offset_body(reader: _Reader) -> CommittedOffset:
    version = reader.version
    return CommittedOffset(
        offset=reader.long(),
        leader_epoch=reader.integer() if version >= 3 else _UNKNOWN_LEADER_EPOCH,
        metadata=reader.string(),
        commit_timestamp_ms=reader.long(),
        expire_timestamp_ms=reader.long() if version == 1 else NO_TIMESTAMP,
        topic_id=reader.tags().get(0, NO_TOPIC_ID),
    )


def _read_group_body(reader: _Reader) -> StoredGroup:
    return StoredGroup(
        protocol_type=reader.string(),
        generation=reader.integer(),
        protocol_name=reader.nullable_string(),
        leader_id=reader.nullable_string(),
        state_timestamp_ms=reader.long() if reader.version >= 2 else NO_TIMESTAMP,
        members=tuple(_read_member(reader) for _ in range(reader.count())),
    )


def _read_member(reader: _Reader) -> StoredMember:
    version = reader.version
    member = StoredMember(
        member_id=reader.string(),
        instance_id=reader.nullable_string() if version >= 3 else None,
        client_id=reader.string(),
        client_host=reader.string(),
        rebalance_timeout_ms=reader.integer() if version >= 1 else -1,
        session_timeout_ms=reader.integer(),
        subscription=reader.data(),
        assignment=reader.data(),
    )
    reader.tags()
    if member.rebalance_timeout_ms < 0:
        return member._replace(rebalance_timeout_ms=member.session_timeout_ms)
    return member


def _decoded(data: bytes, read: Callable[[_Reader], _Value]) -> _Value:
    """Bytes after what is known are left alone: newer brokers add tagged fields (KIP-915)."""
    try:
        return read(_Reader(data))
    except (StructError, UnicodeDecodeError, IndexError) as error:
        raise CorruptRecord(f"a record of a group cannot be read: {error}") from error


class _Reader:
    """Reads classic and compact fields, as the version that opens the data demands."""

    __slots__ = ("_data", "_is_flexible", "_position", "version")

    def __init__(self, data: bytes) -> None:
        self._data = data
        (self.version,) = _SHORT.unpack_from(data, 0)
        if not 0 <= self.version <= VALUE_VERSION_MAX:
            raise CorruptRecord(f"a record of a group has the unknown version {self.version}")
        self._is_flexible = self.version >= FLEXIBLE_FROM
        self._position = _SHORT.size

    def integer(self) -> int:
        self._position += _INT.size
        value: int = _INT.unpack_from(self._data, self._position - _INT.size)[0]
        return value

    def long(self) -> int:
        self._position += _LONG.size
        value: int = _LONG.unpack_from(self._data, self._position - _LONG.size)[0]
        return value

    def nullable_string(self) -> str | None:
        length = self._length(_SHORT)
        return None if length < 0 else self._take(length).decode()

    def string(self) -> str:
        return self._take(self._length(_SHORT)).decode()

    def data(self) -> bytes:
        return self._take(self._length(_INT))

    def count(self) -> int:
        count = self._length(_INT)
        if not 0 <= count <= len(self._data):
            raise CorruptRecord(f"a record of a group counts {count} members")
        return count

    def tags(self) -> dict[int, bytes]:
        """Tagged fields by tag; there are none before the first flexible version."""
        if not self._is_flexible:
            return {}
        fields = {}
        for _ in range(self._varint()):
            tag = self._varint()
            fields[tag] = self._take(self._varint())
        return fields

    def _length(self, classic: Struct) -> int:
        if self._is_flexible:
            return self._varint() - 1
        self._position += classic.size
        length: int = classic.unpack_from(self._data, self._position - classic.size)[0]
        return length

    def _varint(self) -> int:
        value = 0
        for index in range(_VARINT_BYTES_MAX):
            byte = self._data[self._position]
            self._position += 1
            value |= (byte & 0x7F) << 7 * index
            if byte < 0x80:
                return value
        raise CorruptRecord("a record of a group has an endless number")

    def _take(self, length: int) -> bytes:
        start, end = self._position, self._position + length
        if length < 0 or end > len(self._data):
            raise CorruptRecord(f"a record of a group has a field of {length} bytes")
        self._position = end
        return self._data[start:end]
