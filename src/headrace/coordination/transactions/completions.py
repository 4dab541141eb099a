"""What must be written together with the record that ends a transaction: the markers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headrace.coordination.transactions.record_codec import read_record
from headrace.coordination.transactions.records import EPOCH_MAX
from headrace.coordination.transactions.states import AT_REST, COMPLETE, PREPARED, TransactionState
from headrace.model.topic import CONSUMER_OFFSETS_TOPIC

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from headrace.coordination.shard import CoordinatorRecord
    from headrace.coordination.transactions.records import Transaction
    from headrace.model.topic import TopicPartition


class CompleteTransaction(NamedTuple):
    """A marker goes to every partition, in the append that holds the Complete record."""

    transactional_id: str
    producer_id: int
    epoch: int
    """Of the marker: above the epoch of a producer that is to be fenced."""
    is_commit: bool
    partitions: tuple[TopicPartition, ...]
    group_partitions: tuple[TopicPartition, ...]
    """Of ``__consumer_offsets``: pending offsets become visible, or go."""


def completions(
    transactions: Mapping[str, Transaction],
    records: Iterable[CoordinatorRecord],
    read: Callable[[CoordinatorRecord], Transaction | None] = read_record,
) -> list[CompleteTransaction]:
    """What ends when these records are replayed on these transactions."""
    found = []
    for record in records:
        after = read(record)
        if after is None or after.state not in COMPLETE:
            continue
        before = transactions.get(after.transactional_id)
        if before is not None and before.state not in AT_REST:
            found.append(_completion(before, after))
    return found


def _completion(before: Transaction, after: Transaction) -> CompleteTransaction:
    partitions: list[TopicPartition] = []
    group_partitions: list[TopicPartition] = []
    for each in sorted(before.partitions):
        is_of_groups = each.topic == CONSUMER_OFFSETS_TOPIC
        (group_partitions if is_of_groups else partitions).append(each)
    return CompleteTransaction(
        before.transactional_id,
        before.producer_id,
        _marker_epoch(before, after),
        after.state == TransactionState.COMPLETE_COMMIT,
        tuple(partitions),
        tuple(group_partitions),
    )


def _marker_epoch(before: Transaction, after: Transaction) -> int:
    if before.state in PREPARED:
        return before.producer_epoch
    # The epochs of the producer id are used up, another takes over: the marker gets the last one.
    return after.producer_epoch if after.producer_id == before.producer_id else EPOCH_MAX
