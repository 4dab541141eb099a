"""Metadata records <-> the bytes that Kafka's controllers write (KRaft).

A record's value is a frame: unsigned varints for the frame version (1), the record type and the
type's version, then the message in the flexible encoding. Its key is null. Versions: what Kafka 4.3
knows.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.coordination.metadata.access_codec import (
    read_access_control_entry,
    read_remove_access_control_entry,
    read_remove_user_scram_credential,
    read_user_scram_credential,
    write_access_control_entry,
    write_remove_access_control_entry,
    write_remove_user_scram_credential,
    write_user_scram_credential,
)
from headrace.coordination.metadata.quota_codec import (
    is_known_entity,
    read_client_quota,
    write_client_quota,
)
from headrace.coordination.metadata.records import (
    FOREIGN_TYPES,
    NO_LEADER_CHANGE,
    TRANSACTION_TYPES,
    AccessControlEntryRecord,
    ClientQuotaRecord,
    ConfigRecord,
    FeatureLevelRecord,
    ForeignRecord,
    MembershipRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RecordType,
    RemoveAccessControlEntryRecord,
    RemoveTopicRecord,
    RemoveUserScramCredentialRecord,
    ResourceType,
    TopicRecord,
    TransactionRecord,
    UnknownRecord,
    UserScramCredentialRecord,
)
from headrace.model.errors import UnsupportedVersion
from headrace.records.wire import Reader, Writer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.coordination.metadata.records import MetadataRecord

FRAME_VERSION = 1
NO_BROKER_EPOCH = -1


def decode(frame: bytes) -> MetadataRecord:
    """One record's value; CorruptRecord where the bytes make no sense."""
    reader = Reader(frame)
    frame_version = reader.uvarint()
    if frame_version != FRAME_VERSION:
        raise UnsupportedVersion(f"metadata record in frame version {frame_version}")
    type_number, version = reader.uvarint(), reader.uvarint()
    try:
        record_type = RecordType(type_number)
    except ValueError:
        return UnknownRecord(type_number)
    if record_type in TRANSACTION_TYPES:
        return TransactionRecord(record_type)
    if record_type in FOREIGN_TYPES:
        return ForeignRecord(record_type, bytes(frame))
    codec = _CODECS.get(record_type)
    if codec is None:
        return MembershipRecord(record_type)
    if version > codec.version_max:
        raise UnsupportedVersion(
            f"metadata record {record_type.name} in version {version}, "
            f"{codec.version_max} is the newest that is known"
        )
    if record_type is RecordType.CONFIG and not _is_known_resource(frame[reader.position]):
        return ForeignRecord(record_type, bytes(frame))
    if record_type is RecordType.CLIENT_QUOTA and not is_known_entity(
        Reader(frame, reader.position)
    ):
        return ForeignRecord(record_type, bytes(frame))
    record = codec.read(reader, version)
    reader.raise_if_remaining()
    return record


def encode(record: MetadataRecord) -> bytes:
    """The frame of a record that we write, in the version that Kafka 4.0 and later read."""
    if isinstance(record, ForeignRecord):
        return record.frame
    record_type = _TYPES[type(record)]
    codec = _CODECS[record_type]
    writer = Writer().uvarint(FRAME_VERSION).uvarint(record_type).uvarint(codec.version)
    codec.write(writer, record)
    return writer.to_bytes()


def _is_known_resource(number: int) -> bool:
    return number in ResourceType.__members__.values()


def _read_topic(reader: Reader, version: int) -> TopicRecord:
    record = TopicRecord(reader.compact_string(), reader.uuid())
    reader.tagged_fields()
    return record


def _write_topic(writer: Writer, record: TopicRecord) -> None:
    writer.compact_string(record.name).uuid(record.topic_id).tagged_fields()


_ONE_REPLICA = Struct(">i16s Bi Bi BB iii B16s B")
"""A partition as this node writes it: all arrays of one item, or of none."""
_ONE_REPLICA_COUNTS = (2, 2, 1, 1, 2, 0)


def _read_partition(reader: Reader, version: int) -> PartitionRecord:
    return _maybe_read_one_replica(reader, version) or _read_replicas(reader, version)


def _maybe_read_one_replica(reader: Reader, version: int) -> PartitionRecord | None:
    """The same as ``_read_replicas`` in a twentieth of the time, for thousands of partitions."""
    if version < 1 or reader.remaining != _ONE_REPLICA.size:
        return None
    (
        index,
        topic_id,
        a,
        replica,
        b,
        in_sync,
        c,
        d,
        leader,
        epoch,
        partition_epoch,
        e,
        directory,
        f,
    ) = _ONE_REPLICA.unpack_from(reader.buffer, reader.position)
    if (a, b, c, d, e, f) != _ONE_REPLICA_COUNTS:
        return None
    reader.position += _ONE_REPLICA.size
    return PartitionRecord(
        index, topic_id, (replica,), (in_sync,), leader, epoch, partition_epoch, (directory,)
    )


def _read_replicas(reader: Reader, version: int) -> PartitionRecord:
    partition, topic_id = reader.int32(), reader.uuid()
    replicas, in_sync = _read_ids(reader), _read_ids(reader)
    _read_ids(reader)  # replicas being removed,
    _read_ids(reader)  # and being added: both are also among the replicas
    leader, leader_epoch, partition_epoch = reader.int32(), reader.int32(), reader.int32()
    directories = tuple(reader.compact_array(reader.uuid)) if version >= 1 else ()
    reader.tagged_fields()
    return PartitionRecord(
        partition, topic_id, replicas, in_sync, leader, leader_epoch, partition_epoch, directories
    )


def _write_partition(writer: Writer, record: PartitionRecord) -> None:
    writer.int32(record.partition).uuid(record.topic_id)
    _write_ids(writer, record.replicas)
    _write_ids(writer, record.in_sync)
    _write_ids(writer, ())
    _write_ids(writer, ())
    writer.int32(record.leader).int32(record.leader_epoch).int32(record.partition_epoch)
    writer.compact_array(record.directories, writer.uuid)
    writer.tagged_fields()


_CHANGED_IN_SYNC, _CHANGED_LEADER, _CHANGED_REPLICAS, _CHANGED_DIRECTORIES = 0, 1, 2, 8
_CHANGED_ELIGIBLE, _CHANGED_LAST_ELIGIBLE = 6, 7


def _read_partition_change(reader: Reader, version: int) -> PartitionChangeRecord:
    partition, topic_id = reader.int32(), reader.uuid()
    changed = {tag: Reader(data) for tag, data in reader.tagged_fields().items()}
    return PartitionChangeRecord(
        partition,
        topic_id,
        changed[_CHANGED_LEADER].int32() if _CHANGED_LEADER in changed else NO_LEADER_CHANGE,
        _read_ids(changed[_CHANGED_REPLICAS]) if _CHANGED_REPLICAS in changed else None,
        _read_ids(changed[_CHANGED_IN_SYNC]) if _CHANGED_IN_SYNC in changed else None,
        _read_uuids(changed[_CHANGED_DIRECTORIES]) if _CHANGED_DIRECTORIES in changed else None,
    )


def _write_partition_change(writer: Writer, record: PartitionChangeRecord) -> None:
    writer.int32(record.partition).uuid(record.topic_id)
    changed: dict[int, bytes] = {}
    if record.in_sync is not None:
        changed[_CHANGED_IN_SYNC] = _ids(record.in_sync)
        # Kafka lists as eligible leaders those that fell out of sync (KIP-966): none is left.
        changed[_CHANGED_ELIGIBLE] = changed[_CHANGED_LAST_ELIGIBLE] = _ids(())
    if record.leader != NO_LEADER_CHANGE:
        changed[_CHANGED_LEADER] = Writer().int32(record.leader).to_bytes()
    if record.replicas is not None:
        changed[_CHANGED_REPLICAS] = _ids(record.replicas)
    if record.directories is not None:
        changed[_CHANGED_DIRECTORIES] = _uuids(record.directories)
    writer.tagged_fields(changed)


def _read_config(reader: Reader, version: int) -> ConfigRecord:
    resource_type = ResourceType(reader.int8())
    name, option = reader.compact_string(), reader.compact_string()
    record = ConfigRecord(resource_type, name, option, reader.compact_nullable_string())
    reader.tagged_fields()
    return record


def _write_config(writer: Writer, record: ConfigRecord) -> None:
    writer.int8(record.resource_type).compact_string(record.resource_name)
    writer.compact_string(record.name).compact_string(record.value).tagged_fields()


def _read_remove_topic(reader: Reader, version: int) -> RemoveTopicRecord:
    record = RemoveTopicRecord(reader.uuid())
    reader.tagged_fields()
    return record


def _write_remove_topic(writer: Writer, record: RemoveTopicRecord) -> None:
    writer.uuid(record.topic_id).tagged_fields()


def _read_feature_level(reader: Reader, version: int) -> FeatureLevelRecord:
    record = FeatureLevelRecord(reader.compact_string(), reader.int16())
    reader.tagged_fields()
    return record


def _write_feature_level(writer: Writer, record: FeatureLevelRecord) -> None:
    writer.compact_string(record.name).int16(record.level).tagged_fields()


def _read_producer_ids(reader: Reader, version: int) -> ProducerIdsRecord:
    broker_id = reader.int32()
    reader.int64()  # the broker's epoch
    record = ProducerIdsRecord(broker_id, reader.int64())
    reader.tagged_fields()
    return record


def _write_producer_ids(writer: Writer, record: ProducerIdsRecord) -> None:
    writer.int32(record.broker_id).int64(NO_BROKER_EPOCH).int64(record.next_producer_id)
    writer.tagged_fields()


def _read_ids(reader: Reader) -> tuple[int, ...]:
    return tuple(reader.compact_array(reader.int32))


def _write_ids(writer: Writer, ids: Sequence[int]) -> None:
    writer.compact_array(ids, writer.int32)


def _read_uuids(reader: Reader) -> tuple[bytes, ...]:
    return tuple(reader.compact_array(reader.uuid))


def _ids(ids: Sequence[int]) -> bytes:
    writer = Writer()
    _write_ids(writer, ids)
    return writer.to_bytes()


def _uuids(uuids: Sequence[bytes]) -> bytes:
    writer = Writer()
    return writer.compact_array(uuids, writer.uuid).to_bytes()


class _Codec(NamedTuple):
    """``version`` is what we write, ``version_max`` the newest that we read."""

    version: int
    version_max: int
    read: Callable[[Reader, int], MetadataRecord]
    write: Callable[[Writer, Any], None]


_CODECS: dict[RecordType, _Codec] = {
    RecordType.TOPIC: _Codec(0, 0, _read_topic, _write_topic),
    RecordType.PARTITION: _Codec(1, 2, _read_partition, _write_partition),
    RecordType.CONFIG: _Codec(0, 0, _read_config, _write_config),
    RecordType.PARTITION_CHANGE: _Codec(2, 2, _read_partition_change, _write_partition_change),
    RecordType.REMOVE_TOPIC: _Codec(0, 0, _read_remove_topic, _write_remove_topic),
    RecordType.FEATURE_LEVEL: _Codec(0, 0, _read_feature_level, _write_feature_level),
    RecordType.PRODUCER_IDS: _Codec(0, 0, _read_producer_ids, _write_producer_ids),
    RecordType.ACCESS_CONTROL_ENTRY: _Codec(
        0, 0, read_access_control_entry, write_access_control_entry
    ),
    RecordType.REMOVE_ACCESS_CONTROL_ENTRY: _Codec(
        0, 0, read_remove_access_control_entry, write_remove_access_control_entry
    ),
    RecordType.USER_SCRAM_CREDENTIAL: _Codec(
        0, 0, read_user_scram_credential, write_user_scram_credential
    ),
    RecordType.REMOVE_USER_SCRAM_CREDENTIAL: _Codec(
        0, 0, read_remove_user_scram_credential, write_remove_user_scram_credential
    ),
    RecordType.CLIENT_QUOTA: _Codec(0, 0, read_client_quota, write_client_quota),
}

_TYPES: dict[type, RecordType] = {
    TopicRecord: RecordType.TOPIC,
    PartitionRecord: RecordType.PARTITION,
    ConfigRecord: RecordType.CONFIG,
    PartitionChangeRecord: RecordType.PARTITION_CHANGE,
    RemoveTopicRecord: RecordType.REMOVE_TOPIC,
    FeatureLevelRecord: RecordType.FEATURE_LEVEL,
    ProducerIdsRecord: RecordType.PRODUCER_IDS,
    AccessControlEntryRecord: RecordType.ACCESS_CONTROL_ENTRY,
    RemoveAccessControlEntryRecord: RecordType.REMOVE_ACCESS_CONTROL_ENTRY,
    UserScramCredentialRecord: RecordType.USER_SCRAM_CREDENTIAL,
    RemoveUserScramCredentialRecord: RecordType.REMOVE_USER_SCRAM_CREDENTIAL,
    ClientQuotaRecord: RecordType.CLIENT_QUOTA,
}
