"""Transactional ids that nobody has used for long are forgotten.

Every so often all are looked through, a bounded number per decision, so that a great many of them
hold up nobody.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.coordination.shard import Decision
from headrace.coordination.transactions.record_codec import transaction_tombstone
from headrace.coordination.transactions.states import AT_REST

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headrace.coordination.shard import Token
    from headrace.coordination.transactions.registry import TransactionRegistry

IDS_PER_DECISION_MAX = 1_000
_KEY = ("expiry", "")


class Expiry:
    """A TransactionEngine (see ``registry.py``) without commands: it lives on deadlines alone."""

    def __init__(self, registry: TransactionRegistry) -> None:
        self._registry = registry
        self._remaining_ids: list[str] = []

    def deciders(self) -> Mapping[type, Callable[[Any, Token, int], Decision]]:
        return {}

    def loaded(self, now_ms: int) -> None:
        self._look_again(now_ms)

    def _look_again(self, now_ms: int) -> None:
        due_ms = now_ms + self._registry.settings.id_expiration_check_interval_ms
        self._registry.deadlines.set(_KEY, due_ms, self._expire_some)

    def _expire_some(self, now_ms: int) -> Decision:
        if not self._remaining_ids:
            self._remaining_ids = list(self._registry.transactions)
        ids = self._remaining_ids[-IDS_PER_DECISION_MAX:]
        del self._remaining_ids[-IDS_PER_DECISION_MAX:]
        if self._remaining_ids:
            self._registry.deadlines.set(_KEY, now_ms, self._expire_some)
        else:
            self._look_again(now_ms)
        expired = [transaction_tombstone(each) for each in ids if self._is_expired(each, now_ms)]
        return Decision(expired, [])

    def _is_expired(self, transactional_id: str, now_ms: int) -> bool:
        transaction = self._registry.transactions.get(transactional_id)
        if transaction is None or transaction.state not in AT_REST:
            return False
        return now_ms - transaction.updated_ms >= self._registry.settings.id_expiration_ms
