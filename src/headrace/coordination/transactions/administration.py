"""Describing and listing transactions (KIP-664, KIP-994, KIP-1152)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.coordination.groups.patterns import matching_topics
from headrace.coordination.shard import answer
from headrace.coordination.transactions.commands import (
    DescribedTransaction,
    DescribeTransaction,
    ListedTransaction,
    ListedTransactions,
    ListTransactions,
    ProducerIdentity,
)
from headrace.coordination.transactions.registry import raise_if_no_transactional_id
from headrace.coordination.transactions.states import AT_REST, STATES_BY_TITLE
from headrace.model.errors import TransactionalIdNotFound

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headrace.coordination.shard import Decision, Token
    from headrace.coordination.transactions.records import Transaction
    from headrace.coordination.transactions.registry import TransactionRegistry


class Administration:
    """A TransactionEngine (see ``registry.py``)."""

    def __init__(self, registry: TransactionRegistry) -> None:
        self._registry = registry

    def deciders(self) -> Mapping[type, Callable[[Any, Token, int], Decision]]:
        return {DescribeTransaction: self._describe, ListTransactions: self._list}

    def loaded(self, now_ms: int) -> None:
        """Nothing to start: administration has no deadlines."""

    def _describe(self, command: DescribeTransaction, token: Token, now_ms: int) -> Decision:
        raise_if_no_transactional_id(command.transactional_id)
        transaction = self._registry.transactions.get(command.transactional_id)
        if transaction is None:
            raise TransactionalIdNotFound(
                f"there is no transactional id {command.transactional_id!r}"
            )
        described = DescribedTransaction(
            transaction.transactional_id,
            transaction.state.title,
            ProducerIdentity(transaction.producer_id, transaction.producer_epoch),
            transaction.timeout_ms,
            transaction.start_ms,
            tuple(sorted(transaction.partitions)),
        )
        return answer(token, described)

    def _list(self, command: ListTransactions, token: Token, now_ms: int) -> Decision:
        chosen = [
            transaction
            for transaction in self._registry.transactions.values()
            if _is_chosen(transaction, command, now_ms)
        ]
        if command.pattern:
            ids = matching_topics(command.pattern, (each.transactional_id for each in chosen))
            chosen = [each for each in chosen if each.transactional_id in ids]
        listed = ListedTransactions(
            tuple(sorted(command.states - STATES_BY_TITLE.keys())),
            tuple(
                ListedTransaction(each.transactional_id, each.producer_id, each.state.title)
                for each in chosen
            ),
        )
        return answer(token, listed)


def _is_chosen(transaction: Transaction, command: ListTransactions, now_ms: int) -> bool:
    if command.producer_ids and transaction.producer_id not in command.producer_ids:
        return False
    if command.states and transaction.state.title not in command.states:
        return False
    if command.running_longer_than_ms is None:
        return True
    is_running = transaction.state not in AT_REST
    return is_running and now_ms - transaction.start_ms > command.running_longer_than_ms
