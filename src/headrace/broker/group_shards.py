"""One coordinator shard for each partition of the groups' topic, run on the loop.

A shard's log is read in slices. Until that is done its groups are answered with CoordinatorLoading,
which clients understand; others are served meanwhile.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from headrace.broker.group_log import GroupLogReader
from headrace.broker.shard_timer import ShardTimer
from headrace.coordination.groups.administration import Administration
from headrace.coordination.groups.classic import ClassicGroups
from headrace.coordination.groups.consumer import ConsumerGroups
from headrace.coordination.groups.coordinator import GroupCoordinator
from headrace.coordination.groups.expiry import Expiry
from headrace.coordination.groups.offset_commands import OffsetCommands
from headrace.coordination.groups.transactional_records import PendingRecord, TransactionEnded
from headrace.coordination.shard import Shard
from headrace.model.errors import CorruptRecord
from headrace.records.build import build_coordinator_batch
from headrace.storage.log_port import Origin

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.coordination.groups.consumer_topics import TopicCatalogue
    from headrace.coordination.groups.registry import GroupRegistry
    from headrace.coordination.shard import CoordinatorRecord
    from headrace.environment.ports import Background, Clock
    from headrace.model.errors import HeadraceError
    from headrace.storage.log_manager import LogManager
    from headrace.storage.log_port import Log

log = logging.getLogger(__name__)


class SteadyClock:
    """Wall time as it was at the start, moved on by the clock that never jumps.

    A step of the wall clock must not end all sessions at once.
    """

    __slots__ = ("_clock", "_offset_ms")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._offset_ms = clock.now_ms() - clock.monotonic() * 1000

    def now_ms(self) -> int:
        return int(self._clock.monotonic() * 1000 + self._offset_ms)


class GroupShard:
    """The ShardPort of one partition, with its timer. A token is the function to call back."""

    def __init__(
        self,
        source: Log,
        registry: GroupRegistry,
        catalogue: TopicCatalogue,
        logs: LogManager,
        clock: SteadyClock,
        background: Background,
    ) -> None:
        self.registry = registry
        self.is_loading = True
        self.damaged_records = 0
        self._log = source
        self._logs = logs
        self._clock = clock
        self._classic = ClassicGroups(registry)
        self.coordinator = GroupCoordinator(
            registry,
            [
                self._classic,
                ConsumerGroups(registry, catalogue),
                OffsetCommands(registry),
                Administration(registry),
                Expiry(registry),
            ],
        )
        self._shard = Shard(self.coordinator, self)
        self._reader = GroupLogReader(source)
        self._deferred: list[Any] = []
        self._timer = ShardTimer(self._shard, clock, background)

    # --- commands -------------------------------------------------------------------------------

    def submit(self, command: Any, reply_to: Callable[[Any], None]) -> None:
        self._shard.submit(command, reply_to, self._clock.now_ms())
        self._timer.look()

    def submit_when_loaded(self, command: Any) -> None:
        """For commands of our own, which nobody would send again; nobody hears the answer."""
        if self.is_loading:
            self._deferred.append(command)
        else:
            self.submit(command, _ignore)

    def transaction_ended(self, producer_id: int, is_commit: bool) -> None:
        """The marker has just been appended to the log."""
        if self.is_loading:
            return  # it is found there when its turn comes
        self.coordinator.replay(TransactionEnded(producer_id, is_commit))
        self._shard.learned(self._logs.last_commit_number(self._log))

    def close(self, reason: HeadraceError) -> None:
        """Serve nobody any more; whoever waits is told why."""
        self.is_loading = True
        self._timer.cancel()
        for reply_to, reply in self._classic.unload(reason).replies:
            self.deliver(reply_to, reply)

    # --- loading --------------------------------------------------------------------------------

    def load_some(self, records_max: int) -> int:
        """Replay at least so many entries if there are; return how many there were."""
        records = self._reader.read(records_max)
        if records is None:
            self._finish_loading()
            return 0
        for record in records:
            try:
                self.coordinator.replay(record)
            except CorruptRecord as error:
                self.damaged_records += 1
                log.warning("%s: left out a record: %s", self._log.partition, error)
        return len(records)

    def _finish_loading(self) -> None:
        self.is_loading = False
        self.coordinator.finish_loading(self._clock.now_ms())
        self._shard.learned(self._logs.last_commit_number(self._log))
        deferred, self._deferred = self._deferred, []
        for command in deferred:
            self.submit(command, _ignore)
        if self.coordinator.unknown_records:
            log.info(
                "%s: left %d records alone that belong to kinds of group which are not served",
                self._log.partition,
                self.coordinator.unknown_records,
            )
        self._timer.look()

    # --- the shard's port -----------------------------------------------------------------------

    def append(self, records: Sequence[CoordinatorRecord], now_ms: int) -> int:
        batch = self._batch(records, now_ms)
        appended = self._logs.append([(self._log, batch)], origin=Origin.COORDINATOR)
        return appended[0].commit_number

    def _batch(self, records: Sequence[CoordinatorRecord], now_ms: int) -> bytearray:
        epoch = self._log.leader_epoch
        first = records[0]
        if not isinstance(first, PendingRecord):
            return build_coordinator_batch(records, timestamp_ms=now_ms, leader_epoch=epoch)
        return build_coordinator_batch(
            records,
            timestamp_ms=now_ms,
            leader_epoch=epoch,
            producer_id=first.producer_id,
            producer_epoch=first.producer_epoch,
            transactional=True,
        )

    def when_durable(
        self, commit_number: int, callback: Callable[[BaseException | None], None]
    ) -> None:
        self._logs.when_durable(commit_number, callback)

    def deliver(self, token: Any, reply: Any) -> None:
        token(reply)


def _ignore(reply: Any) -> None:
    """Nobody waits for this answer."""
