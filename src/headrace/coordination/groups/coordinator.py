"""The coordinator of the groups of one shard: hands each command and record to whom it concerns.

Classic groups, consumer groups (KIP-848), offsets and administration are engines over one registry.
Adding a kind of group is adding an engine. Offsets of transactions are there for all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.coordination.groups.transactional_offsets import (
    KEY_VERSION_BYTES,
    TransactionalOffsets,
)
from headrace.coordination.groups.transactional_records import PendingRecord, TransactionEnded
from headrace.model.errors import CoordinatorLoading, InternalError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.coordination.groups.registry import GroupEngine, GroupRegistry
    from headrace.coordination.groups.transactional_records import GroupLogEntry
    from headrace.coordination.shard import CoordinatorRecord, Decision, Token


class GroupCoordinator:
    """A StateMachine (see ``headrace.coordination.shard``)."""

    def __init__(self, registry: GroupRegistry, engines: Sequence[GroupEngine]) -> None:
        self.registry = registry
        self.unknown_records = 0
        """Records of kinds that are not served (share and streams groups): counted, left alone."""
        self._transactional = TransactionalOffsets(registry)
        self._engines = (*engines, self._transactional)
        self._is_loaded = False
        self._deciders: dict[type, Callable[[Any, Token, int], Decision]] = {}
        self._replayers: dict[int, Callable[[bytes, bytes | None], None]] = {}
        for engine in self._engines:
            self._deciders.update(engine.deciders())
            self._replayers.update(engine.replayers())

    def decide(self, command: Any, token: Token, now_ms: int) -> Decision:
        if not self._is_loaded:
            raise CoordinatorLoading("the group's state is being read")
        decider = self._deciders.get(type(command))
        if decider is None:
            raise InternalError(f"no engine decides {type(command).__name__}")
        return decider(command, token, now_ms)

    def replay(self, record: GroupLogEntry) -> None:
        """Records come in the order of the log, markers too."""
        if isinstance(record, TransactionEnded):
            self._transactional.replay_end(record)
        elif not isinstance(record, PendingRecord) or not self._transactional.maybe_replay(record):
            self._replay_record(record)

    def _replay_record(self, record: CoordinatorRecord) -> None:
        key = record.key
        replayer = self._replayers.get(int.from_bytes(key[:KEY_VERSION_BYTES], "big"))
        if replayer is None:
            self.unknown_records += 1
            return
        replayer(key, record.value)

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
