"""Sends the rows of an outbox: none is lost, each is sent once, and the order per key is kept.

The crash between "sent" and "deleted" is the whole difficulty. The relay writes down where the
topics end (a claim) before it sends. A relay that finds a claim waits until its writer can no
longer send, reads the topics from there on, deletes the rows whose ids it meets, and only then
sends the rest. One transaction deletes the rows of a batch and claims the next one.

What this does not cover: a relay that is frozen for longer than ``send_timeout_s`` after its claim
and wakes up when a successor has taken over. Only a transactional producer can be fenced then.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from sqlalchemy import delete, select, update
from sqlalchemy.exc import DBAPIError

from headrace.model.errors import HeadraceError
from headrace.patterns.errors import OutboxRowRefused, RelayNotLeader
from headrace.patterns.message_id import MESSAGE_ID_HEADER
from headrace.patterns.outbox import decode_headers
from headrace.patterns.relay_claim import Claim
from headrace.patterns.relay_lock import RelayLock
from headrace.patterns.relay_sender import OutboxMessage, RelaySender
from headrace.patterns.relay_topics import RelayTopics

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Collection, Iterable, Mapping

    from sqlalchemy import Connection, Engine

    from headrace.patterns.outbox import Outbox
    from headrace.patterns.relay_claim import Offsets
    from headrace.patterns.relay_sender import Place

log = logging.getLogger(__name__)

BATCH_ROWS_MAX = 500
BATCH_BYTES_MAX = 8_000_000
DELETE_IDS_MAX = 500  # per statement; databases limit the number of parameters
ENDS_AGE_SECONDS_MAX = 30.0  # older knowledge makes a read back longer than it need be


class Relay:
    """One relay; start as many as you like, one of them works.

    ``config`` is what confluent-kafka needs to connect. ``send_timeout_s`` is how long a batch may
    take; a successor waits that long plus ``settle_s`` before it reads back.
    """

    def __init__(
        self,
        engine: Engine,
        outbox: Outbox,
        config: Mapping[str, object],
        *,
        send_timeout_s: float = 10.0,
        settle_s: float = 1.0,
        accept_loss_of_tail: bool = False,
        sleep: Callable[[float], None] = time.sleep,
        monotonic_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._engine = engine
        self._outbox = outbox
        self._config = dict(config)
        self._send_timeout_s = send_timeout_s
        self._settle_s = settle_s
        self._accept_loss_of_tail = accept_loss_of_tail
        self._sleep = sleep
        self._monotonic_s = monotonic_s
        self._connection: Connection | None = None
        self._lock: RelayLock | None = None
        self._topics: RelayTopics | None = None
        self._sender: RelaySender | None = None
        self._one_by_one = False
        self._outbox_id = ""
        self._ends: Offsets = {}
        self._ends_at_s = 0.0

    def run(self, stop: threading.Event, *, poll_s: float = 0.2) -> None:
        """Relay until ``stop`` is set; errors that may pass are logged and tried again."""
        try:
            while not stop.is_set():
                try:
                    sent = self.run_once()
                except RelayNotLeader as waiting:
                    log.debug("%s", waiting)
                    sent = 0
                except (HeadraceError, DBAPIError) as failure:
                    if isinstance(failure, HeadraceError) and not failure.retriable:
                        raise
                    log.warning("the relay starts over: %s", failure)
                    self.close()
                    sent = 0
                if not sent:
                    stop.wait(poll_s)
        finally:
            self.close()

    def run_once(self) -> int:
        """Send all rows that are visible now; returns how many. Opens what is not open."""
        try:
            return self._send_visible()
        except OutboxRowRefused as refusal:
            if self._one_by_one:
                raise
            # A request was refused, perhaps only for the sum of its messages: look closer.
            log.warning("sending row by row from now on: %s", refusal)
        self._one_by_one = True
        sent = self._send_visible()
        self._one_by_one = False
        self.close()  # the next run begins with requests of many rows again
        return sent

    def _send_visible(self) -> int:
        connection = self._lead()
        total = 0
        batch = self._finish_and_claim(connection, ())
        while batch:
            self._send(batch)
            total += len(batch)
            batch = self._finish_and_claim(connection, [message.row_id for message in batch])
        return total

    def close(self) -> None:
        """Give up the lock and all connections."""
        if self._sender is not None:
            self._sender.abandon()
        if self._topics is not None:
            self._topics.close()
        connection, lock = self._connection, self._lock
        self._connection = self._lock = self._topics = self._sender = None
        if connection is None or lock is None:
            return
        try:
            lock.release()
        except DBAPIError as failure:
            log.info("the lock went with its connection: %s", failure)
            connection.invalidate()
        finally:
            connection.close()

    def _lead(self) -> Connection:
        """Take the lock and clear up after a predecessor, unless that is done."""
        if self._connection is not None:
            return self._connection
        connection = self._engine.connect()
        lock = RelayLock(connection, self._outbox.name)
        try:
            if not lock.acquire():
                raise RelayNotLeader(f"another relay works on {self._outbox.name}; waiting for it")
            with connection.begin():
                self._outbox_id = self._outbox.outbox_id(connection)
            topics = RelayTopics(self._config)
        except BaseException:
            lock.release()
            connection.close()
            raise
        self._connection, self._lock, self._topics = connection, lock, topics
        self._ends = {}
        try:
            self._recover(connection, topics)
        except BaseException:
            self.close()
            raise
        self._sender = RelaySender(self._config, one_by_one=self._one_by_one)
        return connection

    def _recover(self, connection: Connection, topics: RelayTopics) -> None:
        """Find out which rows the last relay sent and did not delete."""
        state = self._outbox.state
        with connection.begin():
            text = connection.execute(select(state.c.claim)).scalar_one()
        if text is None:
            return
        claim = Claim.from_text(text)
        self._sleep(claim.send_timeout_s + self._settle_s)
        prefix = f"{self._outbox_id}/"
        ids = topics.ids_since(claim.ends, accept_loss=self._accept_loss_of_tail)
        sent = {int(i.removeprefix(prefix)) for i in ids if i.startswith(prefix)}
        with connection.begin():
            self._delete(connection, sent)
            connection.execute(update(state).values(claim=None))
        log.info("read back %s: %d messages had been sent", sorted(claim.ends), len(sent))

    def _finish_and_claim(
        self, connection: Connection, sent: Collection[int]
    ) -> list[OutboxMessage]:
        """Delete the rows that were sent and claim the next ones, in one transaction.

        The broker is asked before it begins: no lock of the database waits for the network.
        """
        with connection.begin():
            batch = self._next_rows(connection, sent)
        claim = None
        if batch:
            ends = self._ends_of({message.topic for message in batch})
            claim = Claim(self._send_timeout_s, ends).to_text()
        if batch or sent:
            with connection.begin():
                self._delete(connection, sent)
                connection.execute(update(self._outbox.state).values(claim=claim))
        return batch

    def _next_rows(self, connection: Connection, sent: Collection[int]) -> list[OutboxMessage]:
        rows = self._outbox.rows
        unsent = select(rows).where(rows.c.id.not_in(sorted(sent))).order_by(rows.c.id)
        batch: list[OutboxMessage] = []
        size_bytes = 0
        for row in connection.execute(unsent.limit(BATCH_ROWS_MAX)):
            size_bytes += len(row.value or b"") + len(row.key or b"") + len(row.headers)
            if batch and size_bytes > BATCH_BYTES_MAX:
                break
            identity = (MESSAGE_ID_HEADER, f"{self._outbox_id}/{row.id}".encode())
            headers = [*decode_headers(row.headers), identity]
            batch.append(OutboxMessage(row.id, row.topic, row.key, row.value, headers))
        return batch

    def _delete(self, connection: Connection, ids: Collection[int]) -> None:
        ordered = sorted(ids)
        for start in range(0, len(ordered), DELETE_IDS_MAX):
            part = ordered[start : start + DELETE_IDS_MAX]
            connection.execute(delete(self._outbox.rows).where(self._outbox.rows.c.id.in_(part)))

    def _ends_of(self, names: Iterable[str]) -> Offsets:
        assert self._topics is not None, "the relay does not lead"
        now_s = self._monotonic_s()
        if now_s - self._ends_at_s > ENDS_AGE_SECONDS_MAX:
            self._ends, self._ends_at_s = {}, now_s
        for name in names:
            if name not in self._ends:
                self._ends[name] = self._topics.ends(name)
        return {name: self._ends[name] for name in names}

    def _send(self, batch: list[OutboxMessage]) -> None:
        assert self._sender is not None, "the relay does not lead"
        try:
            places = self._sender.send(batch, self._send_timeout_s)
        except HeadraceError:
            self.close()  # the claim stays: the next run reads back what did arrive
            raise
        self._move_ends(places.values())

    def _move_ends(self, places: Iterable[Place]) -> None:
        for place in places:
            known = self._ends.get(place.topic, {})
            if place.partition in known:
                known[place.partition] = max(known[place.partition], place.offset + 1)
