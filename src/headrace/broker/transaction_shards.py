"""One coordinator shard for each partition of the transactions' topic, run on the loop.

Its ``append`` is where a transaction ends: the Complete record and the marker of every partition go
into one append, all or nothing. There is no step afterwards that a crash could leave out.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from headrace.broker.foreign_batches import maybe_records
from headrace.broker.shard_timer import ShardTimer
from headrace.coordination.shard import CoordinatorRecord, Shard
from headrace.coordination.transactions.coordinator import TransactionCoordinator
from headrace.coordination.transactions.states import PREPARED, TransactionState
from headrace.model.errors import CorruptRecord, HeadraceError, LimitReached, ProducerFenced
from headrace.records.build import build_coordinator_batch
from headrace.storage.atomic_append import ENTRIES_MAX
from headrace.storage.log_port import Origin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from headrace.broker.shard_timer import MillisecondClock
    from headrace.broker.transaction_markers import MarkerEntry, TransactionMarkers
    from headrace.coordination.transactions.commands import ProducerIdentity
    from headrace.coordination.transactions.completions import CompleteTransaction
    from headrace.coordination.transactions.registry import TransactionRegistry
    from headrace.environment.ports import Background
    from headrace.metrics.registry import TransactionCounters
    from headrace.model.topic import TopicPartition
    from headrace.storage.log_manager import LogManager
    from headrace.storage.log_port import Log

log = logging.getLogger(__name__)

PARTITIONS_MAX = ENTRIES_MAX - 1
"""Of one transaction: so many markers and the record fit into one append."""


class TransactionShard:
    """The ShardPort of one partition, with its timer. A token is the function to call back."""

    def __init__(
        self,
        source: Log,
        registry: TransactionRegistry,
        markers: TransactionMarkers,
        logs: LogManager,
        clock: MillisecondClock,
        background: Background,
        counters: TransactionCounters,
    ) -> None:
        self.registry = registry
        self.is_loading = True
        self.damaged_records = 0
        self.coordinator = TransactionCoordinator(registry)
        self._log = source
        self._markers = markers
        self._logs = logs
        self._clock = clock
        self._shard = Shard(self.coordinator, self)
        self._timer = ShardTimer(self, clock, background)
        self._counters = counters
        self._is_clock_at_work = False
        self._records = _keyed_records(source)

    # --- commands -------------------------------------------------------------------------------

    def submit(self, command: Any, reply_to: Callable[[Any], None]) -> None:
        self._shard.submit(command, reply_to, self._clock.now_ms())
        if self.registry.deadlines.is_closer:
            self._timer.look()

    def decide_now(self, command: Any) -> Any:
        """See ``Shard.decide_now``."""
        try:
            reply = self._shard.decide_now(command, self._clock.now_ms())
        except ProducerFenced:
            self._counters.producers_fenced += 1
            raise
        if self.registry.deadlines.is_closer:
            self._timer.look()
        return reply

    def holds(
        self,
        transactional_id: str,
        producer: ProducerIdentity,
        partitions: frozenset[TopicPartition],
    ) -> bool:
        """Whether this producer has a transaction open that all these partitions are part of."""
        transaction = self.registry.transactions.get(transactional_id)
        return (
            transaction is not None
            and transaction.state is TransactionState.ONGOING
            and (transaction.producer_id, transaction.producer_epoch) == producer
            and partitions <= transaction.partitions
            and not self.is_loading
        )

    def close(self) -> None:
        """Serve nobody any more. Nobody waits here but for the log, which answers for itself."""
        self.is_loading = True
        self._timer.cancel()

    # --- deadlines ------------------------------------------------------------------------------

    def next_deadline_ms(self) -> int | None:
        return self.registry.deadlines.next_ms()

    def tick(self, now_ms: int) -> None:
        self._is_clock_at_work = True
        try:
            self._shard.tick(now_ms)
        finally:
            self._is_clock_at_work = False

    # --- loading --------------------------------------------------------------------------------

    def load_some(self, records_max: int) -> int:
        """Replay so many records if there are; how many there were."""
        count = 0
        for record in self._records:
            count += 1
            try:
                self.coordinator.replay(record)
            except CorruptRecord as error:
                self.damaged_records += 1
                log.warning("%s: left out a record: %s", self._log.partition, error)
            if count >= records_max:
                return count
        self._finish_loading()
        return count

    def _finish_loading(self) -> None:
        self.is_loading = False
        self.coordinator.finish_loading(self._clock.now_ms())
        if self.coordinator.unknown_records:
            log.info(
                "%s: left %d records of unknown kinds alone",
                self._log.partition,
                self.coordinator.unknown_records,
            )
        self._timer.look()

    # --- the shard's port -----------------------------------------------------------------------

    def append(self, records: Sequence[CoordinatorRecord], now_ms: int) -> int:
        ended = self.coordinator.completions(records)
        epoch = self._log.leader_epoch
        batch = build_coordinator_batch(records, timestamp_ms=now_ms, leader_epoch=epoch)
        try:
            if ended:
                return self._append_with_markers(batch, ended, now_ms)
            return self._logs.append_one(self._log, batch, Origin.COORDINATOR).commit_number
        except HeadraceError as error:
            log.warning("%s cannot be written: %s", self._log.partition, error.message)
            raise

    def _append_with_markers(
        self, batch: bytearray, ended: Sequence[CompleteTransaction], now_ms: int
    ) -> int:
        entries: list[MarkerEntry] = [(self._log, batch)]
        for each in ended:
            entries += self._markers.entries(each, self._log.leader_epoch, now_ms)
        if len(entries) > ENTRIES_MAX:
            self._write_first(ended, entries[ENTRIES_MAX:])
            del entries[ENTRIES_MAX:]
        appended = self._logs.append(entries, origin=Origin.COORDINATOR)
        for each in ended:
            self._count(each)
            self._markers.appended(each)
        return max([each.commit_number for each in appended])

    def _count(self, ended: CompleteTransaction) -> None:
        """Before the record is replayed: what the clock ends may also have been decided before."""
        if ended.is_commit:
            self._counters.committed += 1
        elif (
            self._is_clock_at_work
            and self.registry.transactions[ended.transactional_id].state is TransactionState.ONGOING
        ):
            self._counters.timed_out += 1
        else:
            self._counters.aborted += 1

    def _write_first(
        self, ended: Sequence[CompleteTransaction], entries: Sequence[MarkerEntry]
    ) -> None:
        """Markers for which one append has no room. We never let a transaction grow so large, Kafka
        does. If its log says how the transaction ends, markers may come before the Complete record:
        after a crash they are written again, which changes nothing."""
        for each in ended:
            if self.registry.transactions[each.transactional_id].state not in PREPARED:
                raise LimitReached(
                    f"the transaction of {each.transactional_id!r} has more than {PARTITIONS_MAX} "
                    "partitions and cannot end in one append"
                )
        for start in range(0, len(entries), ENTRIES_MAX):
            self._logs.append(entries[start : start + ENTRIES_MAX], origin=Origin.COORDINATOR)

    def when_durable(
        self, commit_number: int, callback: Callable[[BaseException | None], None]
    ) -> None:
        self._logs.when_durable(commit_number, callback)

    def deliver(self, token: Any, reply: Any) -> None:
        if isinstance(reply, ProducerFenced):
            self._counters.producers_fenced += 1
        token(reply)


def _keyed_records(source: Log) -> Iterator[CoordinatorRecord]:
    for batch in source.records_from():
        for record in maybe_records(batch, source.partition) or ():
            if record.key is not None:
                yield CoordinatorRecord(record.key, record.value)
