"""Which partitions take part in a transaction. The first one opens it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.coordination.shard import Decision, answer
from headrace.coordination.transactions.commands import AddOffsets, AddPartitions, VerifyPartitions
from headrace.coordination.transactions.records import Transaction
from headrace.coordination.transactions.states import PREPARED, TransactionState
from headrace.model.errors import ConcurrentTransactions, LimitReached, TransactionAbortable
from headrace.model.topic import CONSUMER_OFFSETS_TOPIC, TopicPartition

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headrace.coordination.shard import Token
    from headrace.coordination.transactions.commands import ProducerIdentity
    from headrace.coordination.transactions.registry import TransactionRegistry


class Participants:
    """A TransactionEngine (see ``registry.py``)."""

    def __init__(self, registry: TransactionRegistry) -> None:
        self._registry = registry

    def deciders(self) -> Mapping[type, Callable[[Any, Token, int], Decision]]:
        return {
            AddPartitions: self._add,
            AddOffsets: self._add_offsets,
            VerifyPartitions: self._verify,
        }

    def loaded(self, now_ms: int) -> None:
        """Nothing to start: time-outs are watched by the endings."""

    def _add_offsets(self, command: AddOffsets, token: Token, now_ms: int) -> Decision:
        partition = TopicPartition(CONSUMER_OFFSETS_TOPIC, command.group_partition)
        added = AddPartitions(
            command.transactional_id,
            command.producer,
            frozenset({partition}),
            command.client_version,
        )
        return self._add(added, token, now_ms)

    def _add(self, command: AddPartitions, token: Token, now_ms: int) -> Decision:
        before = self._usable(command.transactional_id, command.producer)
        is_open = before.state == TransactionState.ONGOING
        if is_open and command.partitions <= before.partitions:
            return answer(token, None)
        partitions = before.partitions | command.partitions
        partitions_max = self._registry.settings.partitions_max
        if len(partitions) > partitions_max:
            raise LimitReached(f"a transaction may have {partitions_max} partitions at most")
        after = Transaction(
            before.transactional_id,
            before.producer_id,
            before.producer_epoch,
            before.timeout_ms,
            now_ms,
            TransactionState.ONGOING,
            partitions,
            start_ms=before.start_ms if is_open else now_ms,
            previous_producer_id=before.producer_id,
            next_producer_id=before.next_producer_id,
            client_version=command.client_version,
            last_epoch=before.last_epoch,
        )
        return Decision([self._registry.record(before, after)], [(token, None)])

    def _verify(self, command: VerifyPartitions, token: Token, now_ms: int) -> Decision:
        transaction = self._usable(command.transactional_id, command.producer)
        present = transaction.partitions
        return answer(
            token,
            {
                each: None
                if each in present
                else TransactionAbortable(f"{each} is not part of the transaction")
                for each in command.partitions
            },
        )

    def _usable(self, transactional_id: str, producer: ProducerIdentity) -> Transaction:
        transaction = self._registry.of_producer(transactional_id, producer)
        if transaction.state in PREPARED:
            raise ConcurrentTransactions("the last transaction is being completed")
        return transaction
