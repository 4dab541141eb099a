"""InitProducerId: a producer begins, or goes on after an error, and all before it are fenced.

A transaction that is still open is aborted in the same append as the new epoch is written, so there
is nothing to come back for. Kafka answers CONCURRENT_TRANSACTIONS meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.coordination.shard import Decision
from headrace.coordination.transactions.commands import InitProducerId, ProducerIdentity
from headrace.coordination.transactions.endings import aborted_and_fenced
from headrace.coordination.transactions.record_codec import NAME_BYTES_MAX
from headrace.coordination.transactions.records import (
    EPOCH_MAX,
    NO_EPOCH,
    NO_PARTITIONS,
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    Transaction,
    is_exhausted,
)
from headrace.coordination.transactions.registry import fenced, raise_if_no_transactional_id
from headrace.coordination.transactions.states import PREPARED, TransactionState
from headrace.model.errors import (
    ConcurrentTransactions,
    InvalidRequest,
    InvalidTransactionTimeout,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headrace.coordination.shard import Token
    from headrace.coordination.transactions.registry import TransactionRegistry


class Producers:
    """A TransactionEngine (see ``registry.py``)."""

    def __init__(self, registry: TransactionRegistry) -> None:
        self._registry = registry

    def deciders(self) -> Mapping[type, Callable[[Any, Token, int], Decision]]:
        return {InitProducerId: self._initialise}

    def loaded(self, now_ms: int) -> None:
        """Nothing to start: producers have no deadlines, transactions do."""

    def _initialise(self, command: InitProducerId, token: Token, now_ms: int) -> Decision:
        self._raise_if_invalid(command)
        before = self._registry.transactions.get(command.transactional_id)
        if before is None:
            created = self._created(command, now_ms)
            return self._decision(token, [(None, created)])
        if command.expected is not None:
            _raise_if_stranger(before, command.expected)
        if before.state in PREPARED:
            raise ConcurrentTransactions("the last transaction is being completed")
        if before.state == TransactionState.ONGOING:
            return self._take_over(before, command, token, now_ms)
        return self._decision(token, [(before, self._renewed(before, command, now_ms))])

    def _take_over(
        self, before: Transaction, command: InitProducerId, token: Token, now_ms: int
    ) -> Decision:
        """Abort what is open. A caller that claims an epoch must have the present one: a zombie
        must not be able to abort the transaction of its successor."""
        expected = command.expected
        if expected is not None and expected != _identity(before):
            raise fenced(before, expected)
        aborted = aborted_and_fenced(before, self._registry.finalized_version(), now_ms)
        if expected is not None:
            command = command._replace(expected=_identity(aborted))
        renewed = self._renewed(aborted, command, now_ms)
        return self._decision(token, [(before, aborted), (aborted, renewed)])

    def _created(self, command: InitProducerId, now_ms: int) -> Transaction:
        producer_id = self._registry.allocate_producer_id()
        return Transaction(
            command.transactional_id,
            producer_id,
            producer_epoch=0,
            timeout_ms=command.timeout_ms,
            updated_ms=now_ms,
            previous_producer_id=producer_id,
        )

    def _renewed(self, before: Transaction, command: InitProducerId, now_ms: int) -> Transaction:
        """At rest, with the identity that the caller is to use."""
        expected = command.expected
        renewed = before._replace(
            state=TransactionState.EMPTY,
            partitions=NO_PARTITIONS,
            start_ms=NO_TIMESTAMP,
            updated_ms=now_ms,
            timeout_ms=command.timeout_ms,
            previous_producer_id=before.producer_id,
            next_producer_id=NO_PRODUCER_ID,
        )
        if expected is not None and expected != _identity(before):
            if expected.epoch != before.last_epoch or before.last_epoch == NO_EPOCH:
                raise fenced(before, expected)
            # Repeated: the answer was lost. Nobody came in between, or the last epoch were unknown.
            return renewed._replace(previous_producer_id=before.previous_producer_id)
        last_epoch = NO_EPOCH if expected is None else before.producer_epoch
        if not before.is_exhausted:
            return renewed._replace(producer_epoch=before.producer_epoch + 1, last_epoch=last_epoch)
        producer_id = self._registry.allocate_producer_id()
        return renewed._replace(producer_id=producer_id, producer_epoch=0, last_epoch=last_epoch)

    def _decision(
        self, token: Token, changes: list[tuple[Transaction | None, Transaction]]
    ) -> Decision:
        records = [self._registry.record(before, after) for before, after in changes]
        return Decision(records, [(token, _identity(changes[-1][1]))])

    def _raise_if_invalid(self, command: InitProducerId) -> None:
        raise_if_no_transactional_id(command.transactional_id)
        if len(command.transactional_id.encode()) > NAME_BYTES_MAX:
            raise InvalidRequest(f"a transactional id takes at most {NAME_BYTES_MAX} bytes")
        timeout_ms_max = self._registry.settings.timeout_ms_max
        if not 0 < command.timeout_ms <= timeout_ms_max:
            raise InvalidTransactionTimeout(
                f"a time-out of {command.timeout_ms} ms is not within 1 to {timeout_ms_max}"
            )


def _identity(transaction: Transaction) -> ProducerIdentity:
    return ProducerIdentity(transaction.producer_id, transaction.producer_epoch)


def _raise_if_stranger(transaction: Transaction, expected: ProducerIdentity) -> None:
    """It must be the present producer, or the one whose epochs were used up just now (KIP-360)."""
    if expected.epoch == EPOCH_MAX:  # never given to anyone
        raise fenced(transaction, expected)
    if expected.producer_id == transaction.producer_id:
        return
    is_predecessor = expected.producer_id == transaction.previous_producer_id
    if not (is_predecessor and is_exhausted(expected.epoch)):
        raise fenced(transaction, expected)
