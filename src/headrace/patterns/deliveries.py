"""Store first, then send: a call to another system that must arrive in the end.

Before anything unreliable is tried, the message is stored. What failed, and what may have failed
(a time-out), stays pending and is tried again until the receiver says yes. So it arrives at least
once; the delivery's id tells the receiver which copies are the same.
"""

from __future__ import annotations

import logging
import time
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import BigInteger, Column, Integer, LargeBinary, Table, Text, delete, insert, select
from sqlalchemy import update as update_rows

from headrace.model.errors import InvalidRequest

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from sqlalchemy import Engine, MetaData
    from sqlalchemy.orm import Session

log = logging.getLogger(__name__)

DELIVERIES_TABLE_NAME = "headrace_deliveries"
DUE_ROWS_MAX = 100
FAILURE_CHARACTERS_MAX = 500
BODY_BYTES_MAX = 10_000_000


@dataclass(frozen=True, slots=True)
class Delivery:
    """One stored message; ``attempts`` counts the failed ones before this."""

    id: str
    target: str
    body: bytes
    attempts: int


class Deliveries:
    """The table, and the poller that empties it by calling ``send(delivery)``.

    ``send`` returns when the receiver has taken the message and raises in every other case.
    """

    def __init__(
        self,
        metadata: MetaData,
        *,
        retry_ms: int = 1_000,
        retry_ms_max: int = 60_000,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self._retry_ms = retry_ms
        self._retry_ms_max = retry_ms_max
        self._now_ms = now_ms
        self.table = Table(
            DELIVERIES_TABLE_NAME,
            metadata,
            Column("id", Text, primary_key=True),
            Column("target", Text, nullable=False),
            Column("body", LargeBinary, nullable=False),
            Column("attempts", Integer, nullable=False),
            Column("due_at_ms", BigInteger, nullable=False, index=True),
            Column("last_failure", Text),
        )

    def store(self, session: Session, target: str, body: bytes) -> str:
        """Store in the caller's transaction; returns the id under which it will be sent."""
        if len(body) > BODY_BYTES_MAX:
            raise InvalidRequest(
                f"the body has {len(body)} bytes, more than {BODY_BYTES_MAX}: store it elsewhere "
                "and send a reference"
            )
        delivery_id = uuid.uuid4().hex
        session.execute(
            insert(self.table).values(
                id=delivery_id, target=target, body=body, attempts=0, due_at_ms=self._now_ms()
            )
        )
        return delivery_id

    def send_due(self, engine: Engine, send: Callable[[Delivery], object]) -> int:
        """Try every message that is due, once; returns how many arrived."""
        with engine.connect() as connection:
            table = self.table
            due = connection.execute(
                select(table.c.id, table.c.target, table.c.body, table.c.attempts)
                .where(table.c.due_at_ms <= self._now_ms())
                .order_by(table.c.due_at_ms)
                .limit(DUE_ROWS_MAX)
            ).all()
        return sum(self._try(engine, send, Delivery(*row)) for row in due)

    def run(
        self,
        engine: Engine,
        send: Callable[[Delivery], object],
        stop: threading.Event,
        *,
        poll_s: float = 0.5,
    ) -> None:
        """Poll until ``stop`` is set."""
        while not stop.is_set():
            if not self.send_due(engine, send):
                stop.wait(poll_s)

    def _try(self, engine: Engine, send: Callable[[Delivery], object], delivery: Delivery) -> bool:
        row = self.table.c.id == delivery.id
        try:
            send(delivery)
        except Exception as failure:  # whatever it is: not known to have arrived, so pending
            log.warning("delivery %s to %s failed: %s", delivery.id, delivery.target, failure)
            wait_ms = min(self._retry_ms << min(delivery.attempts, 30), self._retry_ms_max)
            with engine.begin() as connection:
                connection.execute(
                    update_rows(self.table)
                    .where(row)
                    .values(
                        attempts=delivery.attempts + 1,
                        due_at_ms=self._now_ms() + wait_ms,
                        last_failure=repr(failure)[:FAILURE_CHARACTERS_MAX],
                    )
                )
            return False
        with engine.begin() as connection:
            connection.execute(delete(self.table).where(row))
        return True
