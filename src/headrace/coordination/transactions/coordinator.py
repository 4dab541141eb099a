"""The coordinator of the transactional ids of one shard: hands each command to whom it concerns.

A port that runs it must ask ``completions`` in its ``append``; the package's docstring says why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.coordination.transactions.administration import Administration
from headrace.coordination.transactions.completions import completions
from headrace.coordination.transactions.endings import Endings
from headrace.coordination.transactions.expiry import Expiry
from headrace.coordination.transactions.participants import Participants
from headrace.coordination.transactions.producers import Producers
from headrace.model.errors import CoordinatorLoading, InternalError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from headrace.coordination.shard import CoordinatorRecord, Decision, Token
    from headrace.coordination.transactions.completions import CompleteTransaction
    from headrace.coordination.transactions.registry import TransactionEngine, TransactionRegistry


class TransactionCoordinator:
    """A StateMachine (see ``headrace.coordination.shard``)."""

    def __init__(self, registry: TransactionRegistry) -> None:
        self.registry = registry
        self.unknown_records = 0
        """Records of kinds that are not known: counted, left alone."""
        self._is_loaded = False
        self._endings = Endings(registry)
        self._engines: tuple[TransactionEngine, ...] = (
            Producers(registry),
            Participants(registry),
            self._endings,
            Administration(registry),
            Expiry(registry),
        )
        self._deciders: dict[type, Callable[[Any, Token, int], Decision]] = {}
        for engine in self._engines:
            self._deciders.update(engine.deciders())

    def decide(self, command: Any, token: Token, now_ms: int) -> Decision:
        if not self._is_loaded:
            raise CoordinatorLoading("the transactions' state is being read")
        decider = self._deciders.get(type(command))
        if decider is None:
            raise InternalError(f"no engine decides {type(command).__name__}")
        return decider(command, token, now_ms)

    def completions(self, records: Iterable[CoordinatorRecord]) -> list[CompleteTransaction]:
        """The markers to append together with these records, which are not replayed yet."""
        return completions(self.registry.transactions, records, self.registry.read)

    def replay(self, record: CoordinatorRecord) -> None:
        transactional_id = self.registry.replay(record)
        if transactional_id is None:
            self.unknown_records += 1
        elif self._is_loaded:
            self._endings.replayed(transactional_id)

    def finish_loading(self, now_ms: int) -> None:
        """All records of the log have been replayed; commands are taken from now on."""
        for engine in self._engines:
            engine.loaded(now_ms)
        self._is_loaded = True

    def next_deadline_ms(self) -> int | None:
        return self.registry.deadlines.next_ms()

    def expire_next(self, now_ms: int) -> Decision | None:
        action = self.registry.deadlines.pop_due(now_ms)
        return None if action is None else action(now_ms)
