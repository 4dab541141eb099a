"""What the storage does from time to time: flush, checkpoints, expiry, retention, compaction.

``run`` is called every few seconds on the loop's thread and returns quickly: long work goes on in
the background, and a round over many logs is cut into slices.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from headrace.storage.compaction import Compactor
from headrace.storage.compaction_filter import KEY_BYTES
from headrace.storage.log import SegmentedLog
from headrace.storage.memory_log import MemoryLog
from headrace.storage.retention import RetentionRounds

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.config.broker import BrokerConfig
    from headrace.environment.ports import Clock
    from headrace.model.topic import TopicPartition
    from headrace.storage.log_manager import LogManager
    from headrace.storage.log_port import Log

log = logging.getLogger(__name__)


class Chores:
    """All recurring work over the logs of one manager."""

    def __init__(self, logs: LogManager, clock: Clock, config: Callable[[], BrokerConfig]) -> None:
        self._logs = logs
        self._clock = clock
        self._config = config
        self._retention = RetentionRounds(config().log_retention_check_interval_ms)
        self._compactor = Compactor(logs.directory, logs.environment)
        self._compaction_due_ms = 0
        self._deletion_from = clock.monotonic() + config().log_initial_task_delay_ms / 1000
        self._told: set[TopicPartition] = set()

    def run(self) -> None:
        now_ms = self._clock.now_ms()
        self._logs.run_housekeeping(self._config())
        all_logs = self._logs.logs()
        on_disk = [entry for entry in all_logs if isinstance(entry, SegmentedLog)]
        if self._clock.monotonic() >= self._deletion_from:
            self._delete_old(all_logs, on_disk, now_ms)
        self._compact(on_disk, now_ms)

    def _delete_old(self, all_logs: list[Log], on_disk: list[SegmentedLog], now_ms: int) -> None:
        self._retention.check_interval_ms = self._config().log_retention_check_interval_ms
        for failure in self._retention.run_slice(on_disk, now_ms):
            log.error("retention of %s failed: %s", failure.log.partition, failure.error.message)
        for entry in all_logs:
            if isinstance(entry, MemoryLog) and entry.config.retention_ms >= 0:
                entry.drop_older_than(now_ms - entry.config.retention_ms)

    def _compact(self, on_disk: list[SegmentedLog], now_ms: int) -> None:
        config = self._config()
        if not config.log_cleaner_enable or now_ms < self._compaction_due_ms:
            return
        if not self._compactor.is_running:
            self._compaction_due_ms = now_ms + config.log_cleaner_backoff_ms
        self._compactor.keys_max = config.log_cleaner_dedupe_buffer_size // KEY_BYTES
        self._compactor.run(on_disk, now_ms)
        for partition, error in self._compactor.uncleanable.items():
            if partition not in self._told:
                self._told.add(partition)
                log.error("%s is damaged and not compacted: %s", partition, error.message)

    @property
    def uncleanable_count(self) -> int:
        """Logs that are damaged, and not compacted until the next start."""
        return len(self._compactor.uncleanable)

    def forget(self, partition: TopicPartition) -> None:
        """A log was deleted; one that is created by this name later begins anew."""
        self._compactor.forget(partition)
        self._told.discard(partition)

    def stop(self) -> None:
        self._compactor.stop()
