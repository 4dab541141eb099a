"""One shard of a coordinator: decide, append, replay, release the replies.

A state machine never changes its persistent state while it decides: it returns the records that
should be written. The shard appends them first and replays them after, so a failed append needs no
undo; recovery runs the very same ``replay``. A reply leaves when everything the state machine knew
when it decided is durable, so nobody sees a decision that a crash can take back.

A request that has to wait (a join during a rebalance) gets no reply in its own decision. Its token
is kept by the state machine and turns up in a later one: of another member's command, or of
``tick``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from headrace.model.errors import (
    CoordinatorNotAvailable,
    HeadraceError,
    InternalError,
    InvalidProducerEpoch,
    StorageFailure,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Token = object
"""Whatever the caller wants back together with its reply."""

Reply = Any
"""The answer to a command, or the HeadraceError that refuses it."""

TICKS_MAX = 1_000
"""Most deadlines that one ``Shard.tick`` works off; the others are due at once in the next one."""


class CoordinatorRecord(NamedTuple):
    """One record of a coordinator's log. No value: a tombstone, the key is forgotten."""

    key: bytes
    value: bytes | None


class Decision(NamedTuple):
    """What should be written, and who is to be told what once it is."""

    records: list[CoordinatorRecord]
    replies: list[tuple[Token, Reply]]


def answer(token: Token, reply: Reply) -> Decision:
    """A decision that writes nothing."""
    return Decision([], [(token, reply)])


class StateMachine(Protocol):
    """The pure part. Time comes in with each call."""

    def decide(self, command: Any, token: Token, now_ms: int) -> Decision:
        """Raise a HeadraceError to refuse the command without any other effect."""

    def replay(self, record: CoordinatorRecord) -> None:
        """Apply a written record: the only way in which persistent state changes."""

    def next_deadline_ms(self) -> int | None: ...

    def expire_next(self, now_ms: int) -> Decision | None:
        """What the earliest deadline that is due has to say; None when none is due."""


class ShardPort(Protocol):
    """What a shard needs of the outside."""

    def append(self, records: Sequence[CoordinatorRecord], now_ms: int) -> int:
        """Write all or none; return the commit number to wait for (0: durable now).

        Raises StorageFailure, or whatever the log has against the batch.
        """

    def when_durable(
        self, commit_number: int, callback: Callable[[BaseException | None], None]
    ) -> None: ...

    def deliver(self, token: Token, reply: Reply) -> None: ...


class Shard:
    """Runs one state machine over one log."""

    __slots__ = ("_commit_number", "_port", "machine")

    def __init__(self, machine: StateMachine, port: ShardPort) -> None:
        self.machine = machine
        self._port = port
        self._commit_number = 0

    def submit(self, command: Any, token: Token, now_ms: int) -> None:
        try:
            decision = self.machine.decide(command, token, now_ms)
        except HeadraceError as error:
            decision = answer(token, error)
        self._carry_out(decision, now_ms)

    def decide_now(self, command: Any, now_ms: int) -> Reply:
        """The reply to a command that is answered at once, before its records are durable; raises
        what refuses it. For callers who write something else because of it: theirs comes later in
        the log than these records.
        """
        records, replies = self.machine.decide(command, None, now_ms)
        if records:
            try:
                self._write(records, now_ms)
            except HeadraceError as error:
                raise _cannot_be_written(error) from error
        ((_, reply),) = replies
        return reply

    def tick(self, now_ms: int) -> None:
        """Work off the deadlines that are due, each as a decision of its own."""
        for _ in range(TICKS_MAX):
            decision = self.machine.expire_next(now_ms)
            if decision is None:
                return
            self._carry_out(decision, now_ms)

    def learned(self, commit_number: int) -> None:
        """The state machine was told of something that another append has written: replies wait
        for that one, too."""
        self._commit_number = max(self._commit_number, commit_number)

    def next_deadline_ms(self) -> int | None:
        return self.machine.next_deadline_ms()

    def replay(self, records: Iterable[CoordinatorRecord]) -> None:
        """Recovery: apply what the log holds."""
        replay = self.machine.replay
        for record in records:
            replay(record)

    def _carry_out(self, decision: Decision, now_ms: int) -> None:
        records, replies = decision
        if records:
            try:
                self._write(records, now_ms)
            except HeadraceError as error:
                self._refuse(replies, error)
                return
        if replies:
            self._release(replies)

    def _write(self, records: Sequence[CoordinatorRecord], now_ms: int) -> None:
        commit_number = self._port.append(records, now_ms)
        if commit_number > self._commit_number:
            self._commit_number = commit_number
        self.replay(records)

    def _release(self, replies: list[tuple[Token, Reply]]) -> None:
        deliver = self._port.deliver
        awaited = self._commit_number
        if awaited == 0:
            for token, reply in replies:
                deliver(token, reply)
            return

        def durable(error: BaseException | None) -> None:
            if error is not None:
                self._refuse(replies, error)
                return
            if self._commit_number == awaited:
                self._commit_number = 0
            for token, reply in replies:
                deliver(token, reply)

        self._port.when_durable(awaited, durable)

    def _refuse(self, replies: list[tuple[Token, Reply]], cause: BaseException) -> None:
        """Nothing was decided as far as the callers know."""
        for token, _ in replies:
            self._port.deliver(token, _cannot_be_written(cause))


def _cannot_be_written(cause: BaseException) -> HeadraceError:
    """If it was the disk, callers may try again; anything else, such as a record that is too large,
    would only fail again. A producer that the log knows to be replaced is told just that."""
    if isinstance(cause, InvalidProducerEpoch):
        return cause
    kind = CoordinatorNotAvailable if isinstance(cause, StorageFailure) else InternalError
    error = kind(f"the log of this coordinator cannot be written: {cause}")
    error.__cause__ = cause
    return error
