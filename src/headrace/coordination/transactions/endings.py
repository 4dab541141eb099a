"""How a transaction ends: by its producer, by a time-out, by a successor, or after a restart.

One Complete record each; see the package's docstring for why there is no Prepare.
With transaction version 2 (KIP-890) an end takes the epoch with it, so that a late write of the
ended transaction cannot slip into the next one; a producer that repeats its request is recognised
by the epoch just before the present one. Someone who is to be fenced must not look like that:
the epoch then moves once more.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from headrace.coordination.shard import Decision, answer
from headrace.coordination.transactions.commands import EndTransaction, ProducerIdentity
from headrace.coordination.transactions.records import (
    EPOCH_BUMP_VERSION,
    EPOCH_GIVEN_MAX,
    EPOCH_MAX,
    NO_EPOCH,
    NO_PARTITIONS,
    NO_PRODUCER_ID,
    NO_TIMEOUT_MS,
    Transaction,
)
from headrace.coordination.transactions.registry import fenced, is_present, wrong_producer
from headrace.coordination.transactions.states import AT_REST, COMPLETE, PREPARED, TransactionState
from headrace.model.errors import ConcurrentTransactions, InvalidTransactionState

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headrace.coordination.shard import Token
    from headrace.coordination.transactions.registry import TransactionRegistry

RETRY_DELAY_MS = 1_000
"""How long to wait with a time-out or a recovery whose records could not be written."""

_COMMITTED = frozenset({TransactionState.COMPLETE_COMMIT, TransactionState.PREPARE_COMMIT})


class Endings:
    """A TransactionEngine (see ``registry.py``)."""

    def __init__(self, registry: TransactionRegistry) -> None:
        self._registry = registry

    def deciders(self) -> Mapping[type, Callable[[Any, Token, int], Decision]]:
        return {EndTransaction: self._end}

    # --- by the producer ------------------------------------------------------------------------

    def _end(self, command: EndTransaction, token: Token, now_ms: int) -> Decision:
        transaction = self._registry.find(command.transactional_id)
        is_bumping = command.client_version >= EPOCH_BUMP_VERSION
        if is_bumping and _is_repeated(transaction, command.producer):
            return _answer_repeated(transaction, command, token)
        if transaction.producer_id != command.producer.producer_id:
            raise wrong_producer(command.transactional_id, command.producer.producer_id)
        if not is_present(transaction, command.producer):
            raise fenced(transaction, command.producer)
        if transaction.state in PREPARED:
            if is_bumping:
                raise fenced(transaction, command.producer)
            return _answer_repeated(transaction, command, token)
        if transaction.state in COMPLETE and not is_bumping:
            return _answer_repeated(transaction, command, token)
        is_abort_of_nothing = is_bumping and not command.is_commit
        if transaction.state in AT_REST and not is_abort_of_nothing:
            raise _wrong_state(transaction, command)
        return self._complete(transaction, command, token, now_ms)

    def _complete(
        self, transaction: Transaction, command: EndTransaction, token: Token, now_ms: int
    ) -> Decision:
        next_producer_id = NO_PRODUCER_ID
        if command.client_version >= EPOCH_BUMP_VERSION and transaction.is_exhausted:
            next_producer_id = self._registry.allocate_producer_id()
        ended = completed(
            transaction,
            now_ms,
            is_commit=command.is_commit,
            client_version=command.client_version,
            next_producer_id=next_producer_id,
        )
        reply = ProducerIdentity(ended.producer_id, ended.producer_epoch)
        return Decision([self._registry.record(transaction, ended)], [(token, reply)])

    # --- by the clock ---------------------------------------------------------------------------

    def loaded(self, now_ms: int) -> None:
        """Also what must be done after a restart: whatever is prepared is due at once."""
        for transactional_id, transaction in self._registry.transactions.items():
            if transaction.state in PREPARED:
                self._look_at(transactional_id, now_ms)
            else:
                self.replayed(transactional_id)

    def replayed(self, transactional_id: str) -> None:
        """A record of this id has been replayed. Called only after ``loaded``.

        A deadline that is there already stays, unless it would come too late: when it is due, it
        finds out what it is for. So most transactions neither set one nor cancel one.
        """
        due_ms = self._due_ms(transactional_id)
        if due_ms is not None:
            known_ms = self._registry.deadlines.due_ms(("end", transactional_id))
            if known_ms is None or due_ms < known_ms:
                self._look_at(transactional_id, due_ms)

    def _due_ms(self, transactional_id: str) -> int | None:
        """When the transaction has taken too long; None: none is open, or it may take for ever."""
        transaction = self._registry.transactions.get(transactional_id)
        if transaction is None or transaction.state is not TransactionState.ONGOING:
            return None
        if transaction.timeout_ms == NO_TIMEOUT_MS:
            return None
        return transaction.start_ms + transaction.timeout_ms

    def _look_at(self, transactional_id: str, due_ms: int) -> None:
        action = partial(self._deadline, transactional_id)
        self._registry.deadlines.set(("end", transactional_id), due_ms, action)

    def _deadline(self, transactional_id: str, now_ms: int) -> Decision:
        """It may have been set for a transaction that has ended since."""
        transaction = self._registry.transactions.get(transactional_id)
        if transaction is not None and transaction.state in PREPARED:
            return self._end_by_itself(transaction, finished(transaction, now_ms), now_ms)
        due_ms = self._due_ms(transactional_id)
        if transaction is None or due_ms is None:
            return Decision([], [])
        if due_ms > now_ms:
            self._look_at(transactional_id, due_ms)
            return Decision([], [])
        ended = aborted_and_fenced(transaction, self._registry.finalized_version(), now_ms)
        return self._end_by_itself(transaction, ended, now_ms)

    def _end_by_itself(self, transaction: Transaction, ended: Transaction, now_ms: int) -> Decision:
        """Looked at again, in case that the record cannot be written."""
        self._look_at(transaction.transactional_id, now_ms + RETRY_DELAY_MS)
        return Decision([self._registry.record(transaction, ended)], [])


# --- what it looks like afterwards --------------------------------------------------------------


def completed(
    transaction: Transaction,
    now_ms: int,
    *,
    is_commit: bool,
    client_version: int,
    next_producer_id: int = NO_PRODUCER_ID,
) -> Transaction:
    """Ended, with the epoch bumped if the version says so."""
    state = TransactionState.COMPLETE_COMMIT if is_commit else TransactionState.COMPLETE_ABORT
    # The abort of nothing has no beginning, and Kafka wants to see one.
    is_open = transaction.state not in AT_REST
    producer_id, epoch = transaction.producer_id, transaction.producer_epoch
    last_epoch = transaction.last_epoch
    if client_version < EPOCH_BUMP_VERSION:
        client_version = 0  # what Kafka writes for either of the older versions
    else:
        last_epoch = epoch
        if next_producer_id != NO_PRODUCER_ID:
            producer_id, epoch = next_producer_id, 0
        else:
            epoch = min(epoch + 1, EPOCH_MAX)
    return Transaction(
        transaction.transactional_id,
        producer_id,
        epoch,
        transaction.timeout_ms,
        now_ms,
        state,
        NO_PARTITIONS,
        transaction.start_ms if is_open else now_ms,
        previous_producer_id=transaction.producer_id,
        client_version=client_version,
        last_epoch=last_epoch,
    )


def aborted_and_fenced(transaction: Transaction, version: int, now_ms: int) -> Transaction:
    """Aborted against the will of its producer, who must not be able to go on."""
    epoch = min(transaction.producer_epoch + 1, EPOCH_MAX)
    beyond_reach = transaction._replace(producer_epoch=epoch, last_epoch=NO_EPOCH)
    return completed(beyond_reach, now_ms, is_commit=False, client_version=version)


def finished(transaction: Transaction, now_ms: int) -> Transaction:
    """What a Prepare leads to; the epoch was bumped with the Prepare already."""
    is_commit = transaction.state == TransactionState.PREPARE_COMMIT
    ended = completed(transaction, now_ms, is_commit=is_commit, client_version=0)
    ended = ended._replace(client_version=transaction.client_version)
    has_successor = transaction.next_producer_id != NO_PRODUCER_ID
    if has_successor and transaction.client_version >= EPOCH_BUMP_VERSION:
        return ended._replace(producer_id=transaction.next_producer_id, producer_epoch=0)
    return ended


# --- repeated requests --------------------------------------------------------------------------


def _is_repeated(transaction: Transaction, producer: ProducerIdentity) -> bool:
    """The producer has not heard that its transaction ended, and asks with its old epoch."""
    is_ended = transaction.state in COMPLETE or transaction.state in PREPARED
    if not is_ended or transaction.client_version < EPOCH_BUMP_VERSION:
        # An end that left the epoch alone says nothing about who had the one before.
        return False
    if transaction.producer_id == producer.producer_id:
        is_fence = transaction.state in COMPLETE and transaction.producer_epoch == EPOCH_MAX
        return transaction.producer_epoch == producer.epoch + 1 and not is_fence
    is_predecessor = transaction.previous_producer_id == producer.producer_id
    return is_predecessor and producer.epoch == EPOCH_GIVEN_MAX and transaction.producer_epoch == 0


def _answer_repeated(transaction: Transaction, command: EndTransaction, token: Token) -> Decision:
    if command.is_commit != (transaction.state in _COMMITTED):
        raise _wrong_state(transaction, command)
    if transaction.state in PREPARED:
        raise ConcurrentTransactions("the transaction is being completed")
    return answer(token, ProducerIdentity(transaction.producer_id, transaction.producer_epoch))


def _wrong_state(transaction: Transaction, command: EndTransaction) -> InvalidTransactionState:
    verb = "commit" if command.is_commit else "abort"
    return InvalidTransactionState(
        f"cannot {verb}: transactional id {transaction.transactional_id!r} is in the state "
        f"{transaction.state.title}"
    )
