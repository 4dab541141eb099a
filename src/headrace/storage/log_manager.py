"""All logs of this node: opened at start, created and deleted with topics, closed at the stop.

``append`` is the one write verb. One batch for a page-cache topic goes straight to its segment;
everything else goes through the write-ahead log first (``atomic_append.py``).
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from headrace.metrics.registry import StorageCounters
from headrace.model.errors import DamagedLog, HeadraceError, InvalidConfig
from headrace.storage import checkpoints
from headrace.storage.atomic_append import AtomicAppend
from headrace.storage.file_names import (
    CLEAN_SHUTDOWN,
    DELETED_DIRECTORY_SUFFIX,
    HIGH_WATERMARKS,
    LOG_START_OFFSETS,
    LOG_SUFFIX,
    PARTITION_METADATA,
    RECOVERY_POINTS,
    STABLE_OFFSETS,
    SYNCED_FROM,
    offsets_with,
)
from headrace.storage.log import SegmentedLog
from headrace.storage.log_directory import (
    DIRECTORY_NAME_MAX,
    create_directory,
    set_aside_directory,
)
from headrace.storage.log_environment import LogEnvironment
from headrace.storage.log_port import Appended, Log, LogSpec, Origin
from headrace.storage.memory_log import MemoryLog
from headrace.storage.open_files import OpenFiles
from headrace.storage.recovery import recover_log
from headrace.storage.recovery_report import RecoveryReport
from headrace.storage.start_up import StartUp
from headrace.storage.timed_sync import TimedSync

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.config.broker import BrokerConfig
    from headrace.config.topic import TopicConfig
    from headrace.environment.ports import Background, Buffer, Clock, Disk
    from headrace.model.topic import TopicId, TopicPartition

__all__ = ["Appended", "Log", "LogManager", "LogSpec", "Origin", "RecoveryReport"]

_logger = logging.getLogger(__name__)


class LogManager:
    """One per data directory; whoever makes it holds the directory's lock."""

    def __init__(
        self,
        directory: str,
        disk: Disk,
        clock: Clock,
        background: Background,
        config: BrokerConfig,
        counters: StorageCounters | None = None,
    ) -> None:
        counters = counters or StorageCounters()
        self.directory = directory
        self._disk = disk
        self._background = background
        self._config = config
        self._clock = clock
        self._now_ms = clock.now_ms
        self._logs: dict[TopicPartition, Log] = {}
        self.files = OpenFiles(disk, config.open_files_max)
        self._atomic = AtomicAppend(
            directory,
            disk,
            background,
            config.write_ahead_log_bytes_max,
            self._recovery_point_writer,
            counters=counters,
            sync_file=TimedSync(clock, counters.wal_sync_seconds),
        )
        self.environment = LogEnvironment(
            self.files,
            clock,
            background,
            config.decompressed_bytes_max,
            config.producer_id_expiration_ms,
            self._write_log_starts,
            self._atomic.truncating,
            self._atomic.wal.sync_files,
            counters,
            TimedSync(clock, counters.segment_sync_seconds),
        )
        self._checkpoint_due_ms = 0
        self._expiry_due_ms = 0

    # --- starting and stopping --------------------------------------------------------------------

    def open(
        self, logs: Sequence[LogSpec], progress: Callable[[int, int], None] | None = None
    ) -> RecoveryReport:
        """Open all logs that the metadata names; recover them where the last stop was not clean."""
        start_up = StartUp(self.directory, self.environment, self.new_memory_log)
        self._logs, report = start_up.open_logs(logs, progress)
        wal = self._atomic.wal
        wal.start(start_up.redo_frames(self._logs, report), start_up.last_commit_number)
        for log in start_up.changed_durability:
            self._switch_durability(log)
        if not report.is_clean:
            for log in self._segmented_logs():
                if log.is_synced:
                    log.flush()
            self._recovery_point_writer()()
            wal.remove_files()
        return report

    def close(self) -> None:
        """The clean stop: all on the medium, checkpoints and snapshots written, then the marker.

        A log that cannot be closed does not keep the others from it; the stop is not clean then,
        the write-ahead log stays, and the error is raised at the end.
        """
        wal = self._atomic.wal
        if wal.failure is None:
            wal.sync_now()
        failure = self._close_logs()
        self._recovery_point_writer()()
        self._write_log_starts()
        self._write_stop_offsets()
        if wal.failure is None and failure is None:
            wal.remove_files()
            marker = f"{self.directory}/{CLEAN_SHUTDOWN}"
            self._disk.replace_file(marker, checkpoints.CLEAN_SHUTDOWN_CONTENT)
        wal.close()
        self.files.close_all()
        if failure is not None:
            raise failure

    def _close_logs(self) -> HeadraceError | None:
        """Close all that can be closed; the first reason why one could not."""
        failure: HeadraceError | None = None
        for log in self._logs.values():
            try:
                log.close()
            except HeadraceError as error:
                failure = failure or error
        return failure

    # --- the logs ---------------------------------------------------------------------------------

    def get(self, partition: TopicPartition) -> Log | None:
        return self._logs.get(partition)

    def logs(self) -> list[Log]:
        return list(self._logs.values())

    def _segmented_logs(self) -> list[SegmentedLog]:
        return [log for log in self._logs.values() if isinstance(log, SegmentedLog)]

    def create_log(
        self,
        partition: TopicPartition,
        topic_id: TopicId,
        config: TopicConfig,
        leader_epoch: int = 0,
    ) -> Log:
        """A directory with the topic's id; files of a segment come with the first append."""
        spec = LogSpec(partition, topic_id, config, leader_epoch)
        if config.storage == "memory":
            log: Log = self.new_memory_log(spec)
        else:
            log = self._create_on_disk(spec)
        self._logs[partition] = log
        return log

    def new_memory_log(self, spec: LogSpec) -> Log:
        return MemoryLog(
            spec.partition,
            spec.topic_id,
            spec.config,
            spec.leader_epoch,
            decompressed_bytes_max=self._config.decompressed_bytes_max,
        )

    def _create_on_disk(self, spec: LogSpec) -> SegmentedLog:
        directory = f"{self.directory}/{spec.partition}"
        if self._disk.exists(directory):
            if self._is_of_this_topic(directory, spec):
                log, _ = recover_log(self.environment, directory, spec, 0, 0)
                return log
            self._set_aside(directory, spec)
        create_directory(self._disk, directory, spec)
        log = SegmentedLog(self.environment, directory, *spec)
        if log.is_synced:
            self._begin_synced(log)
        return log

    def _is_of_this_topic(self, directory: str, spec: LogSpec) -> bool:
        path = f"{directory}/{PARTITION_METADATA}"
        try:
            return checkpoints.read_partition_metadata(self._disk, path) == spec.topic_id
        except (DamagedLog, FileNotFoundError):
            return False

    def _set_aside(self, directory: str, spec: LogSpec) -> None:
        """A new topic begins empty, whatever one of the same name has left that no longer is."""
        if offsets_with(self._disk.list(directory), LOG_SUFFIX):
            target = set_aside_directory(self._disk, self.directory, spec)
            _logger.warning("%s was there already and is %s now", directory, target)

    def delete_log(self, partition: TopicPartition) -> None:
        """Out of sight at once; the files go after ``file.delete.delay.ms``."""
        log = self._logs.pop(partition)
        log.is_deleted = True
        log.is_direct = False
        self._atomic.forget(log)
        if isinstance(log, SegmentedLog):
            log.retire_files()
            target = self._deletion_target(log)
            self._disk.rename(log.directory, target)
            self._remove_tree_later(target, log.config.file_delete_delay_ms)
        log.notify()

    def _deletion_target(self, log: SegmentedLog) -> str:
        """``<topic>-<n>.<id>-delete``, as Kafka names it; a topic that is too long is cut."""
        for attempt in range(1_000_000):
            tail = f"-{log.partition.partition}.{log.topic_id.hex()}"
            tail += f"{attempt or ''}{DELETED_DIRECTORY_SUFFIX}"
            name = log.partition.topic[: DIRECTORY_NAME_MAX - len(tail)] + tail
            if not self._disk.exists(f"{self.directory}/{name}"):
                break
        return f"{self.directory}/{name}"

    def _remove_tree_later(self, path: str, delay_ms: int) -> None:
        def done(error: BaseException | None) -> None:
            if error is not None:
                _logger.warning("%s stays until the next start: %s", path, error)

        self._background.call_later(
            delay_ms / 1000,
            lambda: self._background.submit(lambda: self._disk.remove_tree(path), done),
        )

    def update_config(self, partition: TopicPartition, config: TopicConfig) -> None:
        """New settings for a log that exists; where durability changes, it is flushed first."""
        log = self._logs[partition]
        if config.storage != log.config.storage:
            raise InvalidConfig(
                f"storage of {partition.topic} is {log.config.storage!r} and cannot be changed"
            )
        was_synced = log.is_synced
        log.configure(config)
        if isinstance(log, SegmentedLog) and log.is_synced != was_synced:
            self._switch_durability(log)

    def _switch_durability(self, log: SegmentedLog) -> None:
        if log.is_synced:
            self._begin_synced(log)
        else:
            self._end_synced(log)

    def _begin_synced(self, log: SegmentedLog) -> None:
        """From here on the write-ahead log has all of this log: the rest was never promised."""
        log.flush()
        path = f"{log.directory}/{SYNCED_FROM}"
        checkpoints.write_single_offset(self._disk, path, log.log_end_offset)

    def _end_synced(self, log: SegmentedLog) -> None:
        log.flush()
        self._disk.remove(f"{log.directory}/{SYNCED_FROM}")
        log.advance_high_watermark(log.log_end_offset)

    # --- append -----------------------------------------------------------------------------------

    def append(
        self, entries: Sequence[tuple[Log, Buffer]], *, origin: Origin = Origin.CLIENT
    ) -> list[Appended]:
        """Append each batch to its log: all of them, or none and an error."""
        if len(entries) == 1:
            log, batch = entries[0]
            return [self.append_one(log, batch, origin)]
        return self._atomic.append(entries, origin, self._now_ms())

    def append_one(self, log: Log, batch: Buffer, origin: Origin = Origin.CLIENT) -> Appended:
        """``append`` of a single batch: what nearly every request is."""
        if log.is_direct:
            return log.append_batch(batch, origin, self._now_ms())
        if isinstance(log, SegmentedLog) and not log.is_deleted:
            return self._atomic.append_synced(log, batch, origin, self._now_ms())
        return self._atomic.append(((log, batch),), origin, self._now_ms())[0]

    def when_durable(
        self, commit_number: int, callback: Callable[[BaseException | None], None]
    ) -> None:
        """Call back when the append with this number is safe; at once if it is already."""
        self._atomic.wal.when_synced(commit_number, callback)

    def last_commit_number(self, log: Log) -> int:
        """What to wait for until all that this log holds now is safe; 0: it is, as far as ever."""
        return self._atomic.wal.commit_number if log.is_synced else 0

    @property
    def write_ahead_log_bytes(self) -> int:
        """Size of its files, which are kept and written over."""
        return self._atomic.wal.size_bytes

    # --- housekeeping -----------------------------------------------------------------------------

    def run_housekeeping(self, config: BrokerConfig | None = None) -> None:
        """Called every few seconds: flush what is due, expire producers, write checkpoints.

        ``config`` is the broker's configuration as it is now."""
        config = config or self._config
        now_ms = self._now_ms()
        for log in self._segmented_logs():
            if log.is_flush_due(now_ms):
                self._background.submit(*log.sync_job())
        if now_ms >= self._expiry_due_ms:
            self._expiry_due_ms = now_ms + config.producer_id_expiration_check_interval_ms
            for any_log in self._logs.values():
                any_log.expire_producers(now_ms, config.producer_id_expiration_ms)
        if now_ms >= self._checkpoint_due_ms:
            self._checkpoint_due_ms = now_ms + config.log_flush_offset_checkpoint_interval_ms
            self._background.submit(self._recovery_point_writer(), _raise_if_failed)

    def _recovery_point_writer(self) -> Callable[[], None]:
        points = {log.partition: log.recovery_point for log in self._segmented_logs()}
        path = f"{self.directory}/{RECOVERY_POINTS}"
        return lambda: checkpoints.write_offsets(self._disk, path, points)

    def _write_log_starts(self) -> None:
        """All but those at zero. Kafka leaves out a start that is its first segment's base; but
        files of segments before it may still be there after a crash."""
        starts = {
            log.partition: log.log_start_offset
            for log in self._segmented_logs()
            if log.log_start_offset > 0
        }
        checkpoints.write_offsets(self._disk, f"{self.directory}/{LOG_START_OFFSETS}", starts)

    def _write_stop_offsets(self) -> None:
        logs = self._segmented_logs()
        checkpoints.write_offsets(
            self._disk,
            f"{self.directory}/{HIGH_WATERMARKS}",
            {log.partition: log.high_watermark for log in logs},
        )
        checkpoints.write_stable_offsets(
            self._disk,
            f"{self.directory}/{STABLE_OFFSETS}",
            {log.partition: (log.log_end_offset, log.last_stable_offset) for log in logs},
        )


def _raise_if_failed(error: BaseException | None) -> None:
    if error is not None:
        raise error
