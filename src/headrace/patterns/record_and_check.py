"""Idempotent consumer, third form: remember the ids of handled messages beside their effects.

The general one, for effects without a key, version or state of their own. The record and the
effects commit together, in the caller's transaction: neither can be there without the other.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from sqlalchemy import BigInteger, Column, CursorResult, MetaData, Table, Text, delete

from headrace.patterns.conflict import insert_unless_there
from headrace.patterns.message_id import message_id
from headrace.patterns.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable

    from confluent_kafka import Message
    from sqlalchemy.orm import Session

    Handler = Callable[[Session, Message], object]

HANDLED_TABLE_NAME = "headrace_handled_messages"


def handled_messages_table(metadata: MetaData) -> Table:
    """The table of handled ids, as part of your own metadata (so that migrations see it)."""
    return Table(
        HANDLED_TABLE_NAME,
        metadata,
        Column("consumer", Text, primary_key=True),
        Column("message_id", Text, primary_key=True),
        Column("handled_at_ms", BigInteger, nullable=False, index=True),
        keep_existing=True,
    )


class RecordAndCheck:
    """Runs a handler once per message id and consumer name.

    ``consumer`` separates services that share a database. Ids are kept until :meth:`forget`.
    """

    def __init__(
        self,
        metadata: MetaData,
        consumer: str,
        identify: Callable[[Message], str] = message_id,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self.table = handled_messages_table(metadata)
        self._consumer = consumer
        self._identify = identify
        self._now_ms = now_ms

    def first_time(self, session: Session, message_id: str) -> bool:
        """Record the id in the caller's transaction; False if it was handled before."""
        return insert_unless_there(
            session,
            self.table,
            ("consumer", "message_id"),
            {
                "consumer": self._consumer,
                "message_id": message_id,
                "handled_at_ms": self._now_ms(),
            },
        )

    def __call__(self, handler: Handler) -> Callable[[Session, Message], Outcome]:
        """Decorate ``handler(session, message)``."""

        def handle_once(session: Session, message: Message) -> Outcome:
            if not self.first_time(session, self._identify(message)):
                return Outcome.DUPLICATE
            handler(session, message)
            return Outcome.APPLIED

        return handle_once

    def forget(self, session: Session, older_than_ms: int) -> int:
        """Delete ids older than so many milliseconds; returns how many.

        Keep them longer than a message can come late: the retention of the topic is safe.
        """
        result: CursorResult[Any] = session.execute(  # type: ignore[assignment]
            delete(self.table).where(
                self.table.c.consumer == self._consumer,
                self.table.c.handled_at_ms < self._now_ms() - older_than_ms,
            )
        )
        return result.rowcount
