"""A transactional id as it stands in ``__transaction_state``: one record holds all of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headrace.coordination.transactions.states import TransactionState

if TYPE_CHECKING:
    from headrace.model.topic import TopicPartition

NO_PRODUCER_ID = -1
NO_EPOCH = -1
NO_TIMESTAMP = -1

EPOCH_MAX = 2**15 - 1
"""Never given to a producer, so that whoever holds the highest one can still be fenced."""
EPOCH_GIVEN_MAX = EPOCH_MAX - 1

NO_TIMEOUT_MS = 2**31 - 1
"""The time-out of a transaction that must never time out (KIP-939), if Kafka's log holds one."""

EPOCH_BUMP_VERSION = 2
"""From this transaction version on, every end of a transaction bumps the epoch (KIP-890)."""

NO_PARTITIONS: frozenset[TopicPartition] = frozenset()


class Transaction(NamedTuple):
    """Immutable: a decision makes a new one, and replaying its record puts it in place."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    updated_ms: int
    state: TransactionState = TransactionState.EMPTY
    partitions: frozenset[TopicPartition] = NO_PARTITIONS
    start_ms: int = NO_TIMESTAMP
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID
    """In a Prepare of Kafka's: the id that takes over because the epochs are used up."""
    client_version: int = 0
    """The transaction version that the client last used."""
    last_epoch: int = NO_EPOCH
    """The epoch before this one if the same producer had it (KIP-360). Not in the record."""

    @property
    def is_exhausted(self) -> bool:
        return is_exhausted(self.producer_epoch)


def is_exhausted(epoch: int) -> bool:
    return epoch >= EPOCH_GIVEN_MAX
