"""What the log of a group coordinator holds beside plain records: parts of transactions (KIP-98).

An offset that is committed within a transaction is written at once, in a batch that bears the
producer's id, and counts when the marker that ends the transaction says so.
"""

from __future__ import annotations

from typing import NamedTuple

from headrace.coordination.shard import CoordinatorRecord


class PendingRecord(CoordinatorRecord):
    """A record that waits for the end of its producer's transaction.

    The records of one decision are all of the same transaction, or all of none: they become one
    batch. As a tuple it is the record alone, so two of different producers may compare as equal.
    """

    producer_id: int
    producer_epoch: int

    def __new__(
        cls, key: bytes, value: bytes | None, producer_id: int, producer_epoch: int
    ) -> PendingRecord:
        record = super().__new__(cls, key, value)
        record.producer_id = producer_id
        record.producer_epoch = producer_epoch
        return record


class TransactionEnded(NamedTuple):
    """The marker of a transaction, in the place where it stands in the log."""

    producer_id: int
    is_commit: bool


GroupLogEntry = CoordinatorRecord | TransactionEnded
