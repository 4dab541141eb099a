"""Bytes of the records in ``records.py``, exactly as Kafka writes them.

Value version 0 knows neither previous and next producer id nor the client's transaction version;
it is written while the finalised transaction version is 0, as Kafka does. Tagged fields that are
not known (KIP-915, KIP-939) are left alone.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from headrace.coordination.shard import CoordinatorRecord
from headrace.coordination.transactions.records import NO_PARTITIONS, NO_PRODUCER_ID, Transaction
from headrace.coordination.transactions.states import TransactionState
from headrace.model.errors import CorruptRecord
from headrace.model.topic import TopicPartition
from headrace.records.varint import uvarint_bytes
from headrace.records.wire import Reader

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
PARTITIONS_REMEMBERED_MAX = 10_000
"""Most transactions have one partition, and the next one has it again."""

_KEY_HEAD = struct.Struct(">hh")
_HEAD = struct.Struct(">hqhib")
"""Version, producer id, epoch, time-out, state."""
_TIMES = struct.Struct(">qq")
_STRING_HEAD = struct.Struct(">h")
_INT32 = struct.Struct(">i")
_LONG_TAG = struct.Struct(">BBq")
_SHORT_TAG = struct.Struct(">BBh")
"""Tag, size, value."""
_USUAL_TAGS = struct.Struct(">BBBqBBh")
"""Both of the above behind their number: what a client of version 2 leaves in every record."""

_new_tuple = tuple.__new__
"""Half the price of a NamedTuple's own constructor."""
_NULL_ARRAY = _INT32.pack(-1)
_NULL_COMPACT_ARRAY = uvarint_bytes(0)
_EMPTY_COMPACT_ARRAY = uvarint_bytes(1)
_NO_TAGS = uvarint_bytes(0)
_state_of = {int(state): state for state in TransactionState}.get


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
    """Two of these are made in each transaction, so they are put together without a Writer."""
    value = _HEAD.pack(
        version,
        transaction.producer_id,
        transaction.producer_epoch,
        transaction.timeout_ms,
        transaction.state,
    )
    times = _TIMES.pack(transaction.updated_ms, transaction.start_ms)
    if version >= FLEXIBLE_FROM:
        value += _compact_partitions(transaction) + times + _tags(transaction)
    else:
        value += _partitions(transaction) + times
    return _new_tuple(CoordinatorRecord, (transaction_key(transaction.transactional_id), value))


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


def read_record(record: CoordinatorRecord) -> Transaction | None:
    """The transaction; None: a tombstone, or a record of another kind."""
    transactional_id = read_transaction_key(record.key)
    if transactional_id is None or record.value is None:
        return None
    return read_transaction(transactional_id, record.value)


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


def _compact_partitions(transaction: Transaction) -> bytes:
    """Kafka writes null, not an empty list, for a transactional id that is Empty."""
    if transaction.state == TransactionState.EMPTY:
        return _NULL_COMPACT_ARRAY
    if not transaction.partitions:
        return _EMPTY_COMPACT_ARRAY
    if len(transaction.partitions) == 1:
        ((topic, index),) = transaction.partitions
        return _compact_partition(topic, index)
    return _compact_topics(_by_topic(transaction.partitions))


@lru_cache(PARTITIONS_REMEMBERED_MAX)
def _compact_partition(topic: str, index: int) -> bytes:
    return _compact_topics([(topic.encode(), [index])])


def _compact_topics(topics: list[tuple[bytes, list[int]]]) -> bytes:
    parts = [uvarint_bytes(len(topics) + 1)]
    for name, partitions in topics:
        parts += uvarint_bytes(len(name) + 1), name, uvarint_bytes(len(partitions) + 1)
        parts += b"".join(map(_INT32.pack, partitions)), _NO_TAGS
    return b"".join(parts)


def _partitions(transaction: Transaction) -> bytes:
    if transaction.state == TransactionState.EMPTY:
        return _NULL_ARRAY
    topics = _by_topic(transaction.partitions)
    parts = [_INT32.pack(len(topics))]
    for name, partitions in topics:
        parts += _STRING_HEAD.pack(len(name)), name, _INT32.pack(len(partitions))
        parts += map(_INT32.pack, partitions)
    return b"".join(parts)


def _by_topic(partitions: frozenset[TopicPartition]) -> list[tuple[bytes, list[int]]]:
    """In the order of the names."""
    grouped = groupby(sorted(partitions), key=itemgetter(0))
    return [(topic.encode(), [index for _, index in group]) for topic, group in grouped]


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
    state = _state_of(number)
    if state is None:
        raise CorruptRecord(f"a transaction is in the unknown state {number}")
    return state


def _tags(transaction: Transaction) -> bytes:
    """Fields at their default are left out, as the protocol demands."""
    has_previous = transaction.previous_producer_id != NO_PRODUCER_ID
    has_next = transaction.next_producer_id != NO_PRODUCER_ID
    if has_previous and transaction.client_version and not has_next:
        return _USUAL_TAGS.pack(
            2,
            _PREVIOUS_PRODUCER_ID_TAG,
            _INT64_BYTES,
            transaction.previous_producer_id,
            _CLIENT_VERSION_TAG,
            _INT16_BYTES,
            transaction.client_version,
        )
    tags = []
    if has_previous:
        identity = transaction.previous_producer_id
        tags.append(_LONG_TAG.pack(_PREVIOUS_PRODUCER_ID_TAG, _INT64_BYTES, identity))
    if has_next:
        identity = transaction.next_producer_id
        tags.append(_LONG_TAG.pack(_NEXT_PRODUCER_ID_TAG, _INT64_BYTES, identity))
    if transaction.client_version:
        version = transaction.client_version
        tags.append(_SHORT_TAG.pack(_CLIENT_VERSION_TAG, _INT16_BYTES, version))
    return uvarint_bytes(len(tags)) + b"".join(tags)


def _with_tags(transaction: Transaction, tags: Mapping[int, bytes]) -> Transaction:
    return transaction._replace(
        previous_producer_id=_number(tags, _PREVIOUS_PRODUCER_ID_TAG, _INT64_BYTES, NO_PRODUCER_ID),
        next_producer_id=_number(tags, _NEXT_PRODUCER_ID_TAG, _INT64_BYTES, NO_PRODUCER_ID),
        client_version=_number(tags, _CLIENT_VERSION_TAG, _INT16_BYTES, 0),
    )


def _number(tags: Mapping[int, bytes], tag: int, size: int, default: int) -> int:
    data = tags.get(tag)
    if data is None:
        return default
    if len(data) != size:
        raise CorruptRecord(f"the tagged field {tag} has {len(data)} bytes instead of {size}")
    return int.from_bytes(data, "big", signed=True)
