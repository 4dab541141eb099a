"""Bytes of the records in ``records.py``, exactly as Kafka writes them.

Value version 0 knows neither previous and next producer id nor the client's transaction version;
it is written while the finalised transaction version is 0, as Kafka does. Tagged fields that are
not known (KIP-915, KIP-939) are left alone.
"""

from __future__ import annotations

import struct
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

from headrace.coordination.shard import CoordinatorRecord
from headrace.coordination.transactions.records import NO_PARTITIONS, NO_PRODUCER_ID, Transaction
from headrace.coordination.transactions.states import TransactionState
from headrace.model.errors import CorruptRecord
from headrace.model.topic import TopicPartition
from headrace.records.wire import Reader, Writer

if TYPE_CHECKING:
    from collections.abc import Mapping

TRANSACTION_KEY = 0
"""The first two bytes of a key: what kind of record it is."""
VALUE_VERSION_MAX = 1
FLEXIBLE_FROM = 1
NAME_BYTES_MAX = 32_767
"""What the string of a key can hold."""

_PREVIOUS_PRODUCER_ID_TAG = 0
_NEXT_PRODUCER_ID_TAG = 1
_CLIENT_VERSION_TAG = 2
_INT64_BYTES = 8
_INT16_BYTES = 2

_KEY_HEAD = struct.Struct(">hh")
_HEAD = struct.Struct(">hqhib")
"""Version, producer id, epoch, time-out, state."""
_TIMES = struct.Struct(">qq")


def value_version(transaction_version: int) -> int:
    """Of the record, while this transaction version is finalised."""
    return VALUE_VERSION_MAX if transaction_version >= 1 else 0


def transaction_key(transactional_id: str) -> bytes:
    name = transactional_id.encode()
    return _KEY_HEAD.pack(TRANSACTION_KEY, len(name)) + name


def transaction_tombstone(transactional_id: str) -> CoordinatorRecord:
    return CoordinatorRecord(transaction_key(transactional_id), None)


def transaction_record(
    transaction: Transaction, version: int = VALUE_VERSION_MAX
) -> CoordinatorRecord:
    writer = Writer().raw(
        _HEAD.pack(
            version,
            transaction.producer_id,
            transaction.producer_epoch,
            transaction.timeout_ms,
            transaction.state,
        )
    )
    _write_partitions(writer, transaction, is_flexible=version >= FLEXIBLE_FROM)
    writer.raw(_TIMES.pack(transaction.updated_ms, transaction.start_ms))
    if version >= FLEXIBLE_FROM:
        writer.tagged_fields(_tags(transaction))
    return CoordinatorRecord(transaction_key(transaction.transactional_id), writer.to_bytes())


def as_stored(transaction: Transaction, version: int) -> Transaction:
    """The transaction without what a record of this version has no room for; the epoch before,
    which none has, stays."""
    if transaction.state == TransactionState.EMPTY:
        transaction = transaction._replace(partitions=NO_PARTITIONS)
    if version >= FLEXIBLE_FROM:
        return transaction
    return transaction._replace(
        previous_producer_id=NO_PRODUCER_ID, next_producer_id=NO_PRODUCER_ID, client_version=0
    )


def read_transaction_key(key: bytes) -> str | None:
    """The transactional id; None: the record is of another kind."""
    reader = Reader(key)
    return reader.string() if reader.int16() == TRANSACTION_KEY else None


def read_transaction(transactional_id: str, value: bytes) -> Transaction:
    reader = Reader(value)
    version = reader.int16()
    if not 0 <= version <= VALUE_VERSION_MAX:
        raise CorruptRecord(f"a record of a transaction has the unknown version {version}")
    is_flexible = version >= FLEXIBLE_FROM
    transaction = Transaction(
        transactional_id=transactional_id,
        producer_id=reader.int64(),
        producer_epoch=reader.int16(),
        timeout_ms=reader.int32(),
        state=_read_state(reader),
        partitions=_read_partitions(reader, is_flexible=is_flexible),
        updated_ms=reader.int64(),
        start_ms=reader.int64(),
    )
    return _with_tags(transaction, reader.tagged_fields()) if is_flexible else transaction


# --- parts --------------------------------------------------------------------------------------


def _write_partitions(writer: Writer, transaction: Transaction, *, is_flexible: bool) -> None:
    """Kafka writes null, not an empty list, for a transactional id that is Empty."""
    topics = None
    if transaction.state != TransactionState.EMPTY:
        grouped = groupby(sorted(transaction.partitions), key=attrgetter("topic"))
        topics = [(topic, [each.partition for each in group]) for topic, group in grouped]

    def write_topic(entry: tuple[str, list[int]]) -> None:
        topic, partitions = entry
        if is_flexible:
            writer.compact_string(topic).compact_array(partitions, writer.int32).tagged_fields()
        else:
            writer.string(topic).array(partitions, writer.int32)

    if is_flexible:
        writer.compact_array(topics, write_topic)
    else:
        writer.array(topics, write_topic)


def _read_partitions(reader: Reader, *, is_flexible: bool) -> frozenset[TopicPartition]:
    def read_topic() -> list[TopicPartition]:
        topic = reader.compact_string() if is_flexible else reader.string()
        read_array = reader.compact_array if is_flexible else reader.array
        partitions = [TopicPartition(topic, each) for each in read_array(reader.int32)]
        if is_flexible:
            reader.tagged_fields()
        return partitions

    read_topics = reader.compact_nullable_array if is_flexible else reader.nullable_array
    return frozenset(each for topic in read_topics(read_topic) or () for each in topic)


def _read_state(reader: Reader) -> TransactionState:
    number = reader.int8()
    try:
        return TransactionState(number)
    except ValueError as error:
        raise CorruptRecord(f"a transaction is in the unknown state {number}") from error


def _tags(transaction: Transaction) -> dict[int, bytes]:
    """Fields at their default are left out, as the protocol demands."""
    tags = {}
    if transaction.previous_producer_id != NO_PRODUCER_ID:
        tags[_PREVIOUS_PRODUCER_ID_TAG] = _bytes_of(transaction.previous_producer_id, _INT64_BYTES)
    if transaction.next_producer_id != NO_PRODUCER_ID:
        tags[_NEXT_PRODUCER_ID_TAG] = _bytes_of(transaction.next_producer_id, _INT64_BYTES)
    if transaction.client_version:
        tags[_CLIENT_VERSION_TAG] = _bytes_of(transaction.client_version, _INT16_BYTES)
    return tags


def _with_tags(transaction: Transaction, tags: Mapping[int, bytes]) -> Transaction:
    return transaction._replace(
        previous_producer_id=_number(tags, _PREVIOUS_PRODUCER_ID_TAG, _INT64_BYTES, NO_PRODUCER_ID),
        next_producer_id=_number(tags, _NEXT_PRODUCER_ID_TAG, _INT64_BYTES, NO_PRODUCER_ID),
        client_version=_number(tags, _CLIENT_VERSION_TAG, _INT16_BYTES, 0),
    )


def _bytes_of(value: int, size: int) -> bytes:
    return value.to_bytes(size, "big", signed=True)


def _number(tags: Mapping[int, bytes], tag: int, size: int, default: int) -> int:
    data = tags.get(tag)
    if data is None:
        return default
    if len(data) != size:
        raise CorruptRecord(f"the tagged field {tag} has {len(data)} bytes instead of {size}")
    return int.from_bytes(data, "big", signed=True)
