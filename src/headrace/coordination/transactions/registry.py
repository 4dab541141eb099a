"""What the parts of a transaction coordinator share: the transactions by id, deadlines, settings.

``replay`` is the only way in which a transaction changes. One thing is remembered beside the
records, as Kafka does: which epoch the producer had before (``Transaction.last_epoch``), by which
a repeated InitProducerId is recognised. The record has no room for it, so a restart forgets it, and
the worst that follows is a producer that is told it was fenced.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from headrace.coordination.groups.deadlines import Deadlines
from headrace.coordination.transactions.record_codec import (
    as_stored,
    read_record,
    read_transaction_key,
    transaction_record,
    value_version,
)
from headrace.coordination.transactions.records import EPOCH_MAX
from headrace.coordination.transactions.states import TransactionState, raise_if_illegal_transition
from headrace.model.errors import InvalidProducerIdMapping, InvalidRequest, ProducerFenced

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headrace.coordination.shard import CoordinatorRecord, Decision, Token
    from headrace.coordination.transactions.commands import ProducerIdentity
    from headrace.coordination.transactions.records import Transaction


class TransactionEngine(Protocol):
    """A group of commands that belong together."""

    def deciders(self) -> Mapping[type, Callable[[Any, Token, int], Decision]]:
        """By the type of the command."""

    def loaded(self, now_ms: int) -> None:
        """The log has been replayed: start the deadlines."""


@dataclass(frozen=True, slots=True)
class TransactionSettings:
    """The broker's settings that transactions obey."""

    timeout_ms_max: int = 15 * 60_000
    """transaction.max.timeout.ms"""
    id_expiration_ms: int = 7 * 24 * 3_600_000
    """transactional.id.expiration.ms"""
    id_expiration_check_interval_ms: int = 3_600_000
    """transaction.remove.expired.transaction.cleanup.interval.ms"""
    partitions_max: int = 100_000
    """Of one transaction: every record names all of them."""


@dataclass(slots=True)
class TransactionRegistry:
    """Shared by the engines of one coordinator shard."""

    settings: TransactionSettings
    allocate_producer_id: Callable[[], int]
    """An id that nobody ever had. May raise, for instance CoordinatorLoading."""
    finalized_version: Callable[[], int] = lambda: 2
    """The feature ``transaction.version`` as it stands now."""
    transactions: dict[str, Transaction] = field(default_factory=dict)
    deadlines: Deadlines = field(default_factory=Deadlines)
    _drafts: dict[bytes, tuple[bytes | None, Transaction]] = field(default_factory=dict)
    """By the key of its record, the latest decision per transactional id: the record's value, and
    what it says. As many as there are transactions."""

    def record(self, before: Transaction | None, after: Transaction) -> CoordinatorRecord:
        """The record which, replayed, puts the one in the place of the other."""
        if before is not None:
            raise_if_illegal_transition(before.state, after.state)
        version = value_version(self.finalized_version())
        record = transaction_record(after, version)
        self._drafts[record.key] = record.value, as_stored(after, version)
        return record

    def read(self, record: CoordinatorRecord) -> Transaction | None:
        """What a record says; None: nothing about a transaction that is. The latest decision is at
        hand, with the epoch before: its record need not be taken apart again."""
        draft = self._drafts.get(record.key)
        if draft is not None and draft[0] == record.value:
            return draft[1]
        return read_record(record)

    def replay(self, record: CoordinatorRecord) -> str | None:
        """The transactional id that it was about; None: the record is of another kind."""
        transaction = self.read(record)
        if transaction is not None and transaction.state is not TransactionState.DEAD:
            self.transactions[transaction.transactional_id] = transaction
            return transaction.transactional_id
        transactional_id = read_transaction_key(record.key)
        if transactional_id is not None:
            self.transactions.pop(transactional_id, None)
            self._drafts.pop(record.key, None)
        return transactional_id

    def of_producer(self, transactional_id: str, producer: ProducerIdentity) -> Transaction:
        """The transaction, if this producer is the one that may use it."""
        transaction = self.find(transactional_id)
        producer_id = producer.producer_id
        if transaction.producer_id != producer_id:
            raise wrong_producer(transactional_id, producer_id)
        if not is_present(transaction, producer):
            raise fenced(transaction, producer)
        return transaction

    def find(self, transactional_id: str) -> Transaction:
        transaction = self.transactions.get(transactional_id)
        if transaction is None:
            raise_if_no_transactional_id(transactional_id)
            raise InvalidProducerIdMapping(f"there is no transactional id {transactional_id!r}")
        return transaction


def is_present(transaction: Transaction, producer: ProducerIdentity) -> bool:
    """Whether it is the one who holds the id now. The last epoch fences, and nobody was given it:
    who shows it has made it up."""
    is_holder = producer == (transaction.producer_id, transaction.producer_epoch)
    return is_holder and producer.epoch != EPOCH_MAX


def raise_if_no_transactional_id(transactional_id: str) -> None:
    if not transactional_id:
        raise InvalidRequest("a transactional id must not be empty")


def wrong_producer(transactional_id: str, producer_id: int) -> InvalidProducerIdMapping:
    return InvalidProducerIdMapping(
        f"producer id {producer_id} does not belong to transactional id {transactional_id!r}"
    )


def fenced(transaction: Transaction, producer: ProducerIdentity) -> ProducerFenced:
    return ProducerFenced(
        f"epoch {producer.epoch} of producer id {producer.producer_id} is not the present one of "
        f"transactional id {transaction.transactional_id!r}"
    )
