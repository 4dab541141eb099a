"""Exactly once: all rows of a batch in one transaction, and the number of the batch with them.

Order is everything here:

1. ``init_transactions`` under the name of the sink. Whatever an earlier run left open is aborted,
   and that run can commit nothing any more, even if it is still alive.
2. Only now ask for the last batch that was written. The answer can no longer change.
3. The same batch: this is a replay, and nothing is to be done. A later one, or one of another
   query: refuse.
4. Send the rows and the number of the batch, and commit. A crash before the commit leaves nothing
   to be seen; a crash after it is found in step 2 of the next run.

An open sink stays in its process: as long as nobody has fenced it, steps 1 and 2 hold.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from confluent_kafka import KafkaException

from headrace.model.errors import HeadraceError
from headrace.pipeline.client_settings import timeout_seconds
from headrace.pipeline.errors import BrokerUnreachable
from headrace.pipeline.sink.clients import Refusals, make_producer, named
from headrace.pipeline.sink.errors import (
    DeliveryFailed,
    SinkAheadOfCheckpoint,
    SinkFenced,
    SinkOfAnotherQuery,
)
from headrace.pipeline.sink.ledger import Ledger, LedgerEntry
from headrace.pipeline.sink.producing import check_topics, poll, produce_rows
from headrace.pipeline.sink.staging import read_piece

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from headrace.pipeline.sink.staging import StagedPiece

NAME_PREFIX = "headrace-sink-"
TRANSACTION_TIMEOUT = "transaction.timeout.ms"
# A driver that dies and is not started again keeps readers of committed data waiting for so long.
TRANSACTION_TIMEOUT_MS = 300_000
OPEN_SECONDS_MAX = 120.0
ABORT_SECONDS_MAX = 60.0
OPEN_SINKS_MAX = 16

log = logging.getLogger(__name__)


class TransactionalSink:
    """Writes the batches of one query under one name. After an error it is of no use.

    With ``is_repeatable`` false nobody will ever come again under this name, so nothing need be
    remembered of it.
    """

    def __init__(
        self,
        kafka: Mapping[str, str],
        sink_id: str,
        query_id: str,
        *,
        is_repeatable: bool = True,
    ) -> None:
        self.name = NAME_PREFIX + sink_id
        self._query_id = query_id
        self._timeout_seconds = timeout_seconds(kafka, TRANSACTION_TIMEOUT, TRANSACTION_TIMEOUT_MS)
        self._refusals = Refusals()
        self._producer = make_producer(
            kafka,
            {TRANSACTION_TIMEOUT: str(TRANSACTION_TIMEOUT_MS)},
            {"transactional.id": self.name},
            self._refusals,
        )
        self._call(self._producer.init_transactions, OPEN_SECONDS_MAX, "opening the sink")
        self._ledger = Ledger(kafka, self.name) if is_repeatable else None
        self._last = self._ledger.last if self._ledger is not None else None

    def is_followed_by(self, batch_id: int) -> bool:
        """Whether this is the batch after the last one: then nobody has written in between."""
        return self._last is not None and self._last.batch_id + 1 == batch_id

    def write(self, pieces: Sequence[StagedPiece], batch_id: int) -> bool:
        """Write a batch; False if it was written before.

        After an error the next run finds out what became of it: usually nothing of it can be seen,
        but the answer to a commit may have been lost.
        """
        if self._is_replay(batch_id):
            log.info("%s: batch %d was written before", self.name, batch_id)
            return False
        check_topics(self._producer, _all_topics(pieces))
        deadline = time.monotonic() + self._timeout_seconds
        self._call(lambda _: self._producer.begin_transaction(), ABORT_SECONDS_MAX, "beginning")
        try:
            self._send(pieces)
            entry = LedgerEntry(batch_id, self._query_id)
            self._record(entry, deadline)
            self._commit(deadline)
        except HeadraceError as failure:
            told = self._first_refusal(failure)
            end = self._abort()
            # Without the failure itself: it says less, and would be told first.
            raise self._cause(told, end, deadline) from None
        self._last = entry
        return True

    def _is_replay(self, batch_id: int) -> bool:
        last = self._last
        if last is None:
            return False
        if last.query_id != self._query_id:
            raise SinkOfAnotherQuery(
                f"{self.name} was written by {_query(last.query_id)}, and this is"
                f" {_query(self._query_id)}: give each query, and each new checkpoint, an id of"
                " its own"
            )
        if batch_id < last.batch_id:
            raise SinkAheadOfCheckpoint(
                f"batch {batch_id} is to be written, but {self.name} has written batch"
                f" {last.batch_id}: the checkpoint is older than the output. Start with a new"
                " checkpoint, at the offsets where the output ends"
            )
        return batch_id == last.batch_id

    def _send(self, pieces: Sequence[StagedPiece]) -> None:
        for piece in pieces:
            for staged in read_piece(piece):
                produce_rows(self._producer, staged, self._timeout_seconds)

    def _record(self, entry: LedgerEntry, deadline: float) -> None:
        ledger = self._ledger
        if ledger is not None:
            self._call(
                lambda seconds: ledger.record(self._producer, entry, seconds),
                _left_seconds(deadline),
                "noting the batch",
            )

    def _commit(self, deadline: float) -> None:
        self._call(
            self._producer.commit_transaction, _left_seconds(deadline), "committing the batch"
        )

    def _call(self, action: Callable[[float], None], seconds: float, what: str) -> None:
        """Retried as long as the library says that the same call may succeed."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                action(max(0.1, deadline - time.monotonic()))
                return
            except KafkaException as failure:
                if not failure.args[0].retriable():
                    raise named(failure, what) from failure
                if time.monotonic() >= deadline:
                    text = f"{what}: no answer within {seconds:.0f} s"
                    raise BrokerUnreachable(text) from failure

    def _abort(self) -> HeadraceError | None:
        """Best effort: what stays open is aborted by the next run, or by the broker in time. Why it
        could not be done here is the answer.
        """
        try:
            self._producer.purge()
            self._producer.abort_transaction(ABORT_SECONDS_MAX)
        except KafkaException as failure:
            log.warning("%s: the transaction stays open for now: %s", self.name, failure)
            return named(failure, "the producer")
        return None

    def _first_refusal(self, failure: HeadraceError) -> HeadraceError:
        """What lies behind a failure, as far as the producer has been told."""
        try:
            poll(self._producer, 0)
        except HeadraceError as end:
            return end
        return self._refusals.first or failure

    def _cause(
        self, told: HeadraceError, end: HeadraceError | None, deadline: float
    ) -> HeadraceError:
        # That records were not taken is a consequence; that nobody may end the transaction is why.
        error = end if isinstance(told, DeliveryFailed) and isinstance(end, SinkFenced) else told
        if isinstance(error, SinkFenced) and time.monotonic() >= deadline:
            return SinkFenced(
                f"the transaction took longer than kafka.{TRANSACTION_TIMEOUT}"
                f" ({self._timeout_seconds:.0f} s) and was undone: allow more, for this batch stays"
                " as large as it is; maxOffsetsPerTrigger makes the ones after it smaller"
            )
        return error


def _left_seconds(deadline: float) -> float:
    return max(1.0, deadline - time.monotonic())


def _query(query_id: str) -> str:
    return f"query {query_id}" if query_id else "a batch job of no query"


def _all_topics(pieces: Sequence[StagedPiece]) -> dict[str, int]:
    topics: dict[str, int] = {}
    for piece in pieces:
        for topic, partition in piece.topics.items():
            topics[topic] = max(partition, topics.get(topic, partition))
    return topics


_open_sinks: dict[tuple[str, str], TransactionalSink] = {}
"""Spark usually commits one batch after the other in the same process: connecting once is enough.
With several queries it takes its processes in turn, and a sink that is kept here may be fenced by
one that another process has opened for a batch in between."""


def write_next(
    kafka: Mapping[str, str], query_id: str, pieces: Sequence[StagedPiece], batch_id: int
) -> bool:
    """``TransactionalSink.write`` of a query's next batch, with its open sink if it can be used."""
    key = (query_id, repr(sorted(kafka.items())))
    # Taken out while it works: after an error it does not come back.
    sink = _open_sinks.pop(key, None)
    if sink is None or not sink.is_followed_by(batch_id):
        sink = TransactionalSink(kafka, query_id, query_id)
    is_new = sink.write(pieces, batch_id)
    _open_sinks[key] = sink
    if len(_open_sinks) > OPEN_SINKS_MAX:
        del _open_sinks[next(iter(_open_sinks))]
    return is_new
