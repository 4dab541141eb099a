"""Batches that are part of a transaction: the coordinator must know of their partition first.

A client of transaction version 2 (Produce v12) leaves that to us: its partitions are added when it
writes to them (KIP-890). An older one has added them before, and that is verified. Otherwise a late
batch could open a transaction that nobody ever ends.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from headrace.coordination.transactions.commands import ProducerIdentity
from headrace.model.errors import (
    ConcurrentTransactions,
    CoordinatorLoading,
    CoordinatorNotAvailable,
    HeadraceError,
    InvalidProducerEpoch,
    InvalidTopicName,
    InvalidTransactionState,
    NotCoordinator,
    NotEnoughReplicas,
    ProducerFenced,
    TransactionAbortable,
    TransactionalIdAuthorizationFailed,
)
from headrace.records.header import HEADER_SIZE, TRANSACTIONAL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.broker.topics import Partition
    from headrace.codecs.kafka.generated.produce import PartitionProduceData
    from headrace.frontends.kafka.context import RequestContext
    from headrace.model.topic import TopicPartition

ABORTABLE_FROM = 11
IMPLICIT_FROM = 12
_ATTRIBUTES_LOW_BYTE = 22
_PRODUCER_AT = 43
_unpack_producer = struct.Struct(">qh").unpack_from
_new_tuple = tuple.__new__
"""Half the price of a NamedTuple's own constructor."""
_NO_COORDINATOR = (CoordinatorLoading, CoordinatorNotAvailable, NotCoordinator)


def raise_if_not_enlisted(
    transactional_id: str | None,
    partitions: list[Partition],
    data: PartitionProduceData,
    context: RequestContext,
) -> None:
    """For a batch with the flag of a transaction, right before it is written."""
    batch = data.records
    if batch is None or len(batch) < HEADER_SIZE or not 0 <= data.index < len(partitions):
        return  # storage will refuse it
    producer = _new_tuple(ProducerIdentity, _unpack_producer(batch, _PRODUCER_AT))
    addresses = partitions[data.index].alone
    refused = _enlist_of_one(transactional_id, producer, partitions, addresses, context)
    if refused:
        raise refused[data.index]


def enlist(
    transactional_id: str | None,
    partitions: list[Partition],
    batches: Sequence[PartitionProduceData],
    context: RequestContext,
) -> dict[int, HeadraceError]:
    """Make one topic's partitions part of the transaction, at once; those that cannot be, by index.

    Batches without the flag are passed over, as are those that storage will refuse anyway.
    """
    by_producer: dict[ProducerIdentity, list[int]] = {}
    for data in batches:
        batch = data.records
        if batch is None or len(batch) < HEADER_SIZE or not 0 <= data.index < len(partitions):
            continue
        if batch[_ATTRIBUTES_LOW_BYTE] & TRANSACTIONAL:
            producer = _new_tuple(ProducerIdentity, _unpack_producer(batch, _PRODUCER_AT))
            by_producer.setdefault(producer, []).append(data.index)
    refused: dict[int, HeadraceError] = {}
    for producer, indexes in by_producer.items():
        addresses = frozenset([partitions[index].log.partition for index in indexes])
        refused |= _enlist_of_one(transactional_id, producer, partitions, addresses, context)
    return refused


def _enlist_of_one(
    transactional_id: str | None,
    producer: ProducerIdentity,
    partitions: list[Partition],
    addresses: frozenset[TopicPartition],
    context: RequestContext,
) -> dict[int, HeadraceError]:
    version = context.version
    try:
        if transactional_id is None:
            raise TransactionalIdAuthorizationFailed("the request names no transactional id")
        if partitions[0].is_internal:
            raise InvalidTopicName(f"{partitions[0].topic} is written by the coordinators alone")
        refused = context.broker.transactions.enlist(
            transactional_id,
            producer,
            addresses,
            client_version=2 if version >= IMPLICIT_FROM else 0,
        )
    except HeadraceError as error:
        refusal = _as_produce_error(error, version)
        return {address.partition: refusal for address in addresses}
    if not refused:
        return {}
    return {
        address.partition: _as_produce_error(error, version) for address, error in refused.items()
    }


def _as_produce_error(error: HeadraceError, version: int) -> HeadraceError:
    """What a producer of this version understands, as Kafka has it."""
    if isinstance(error, ProducerFenced):
        return InvalidProducerEpoch(error.message)
    if isinstance(error, TransactionAbortable) and version < ABORTABLE_FROM:
        return InvalidTransactionState(error.message)
    is_too_early = isinstance(error, ConcurrentTransactions) and version < IMPLICIT_FROM
    if is_too_early or isinstance(error, _NO_COORDINATOR):
        # Of the errors after which a producer just tries again, the one that has no side effects.
        return NotEnoughReplicas(f"the transaction cannot be looked up: {error.message}")
    return error
