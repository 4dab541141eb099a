"""Opening all logs of a data directory, and redoing what the write-ahead log has and they lack."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from headrace.model.errors import DamagedLog
from headrace.records.header import HEADER, HEADER_SIZE, LENGTH_OVERHEAD, MAGIC
from headrace.storage import checkpoints
from headrace.storage.file_names import (
    CLEAN_SHUTDOWN,
    CLEANER_OFFSETS,
    DELETED_DIRECTORY_SUFFIX,
    LOG_START_OFFSETS,
    LOG_SUFFIX,
    PARTITION_METADATA,
    RECOVERY_POINTS,
    SNAPSHOT_SUFFIX,
    STABLE_OFFSETS,
    SYNCED_FROM,
    offsets_with,
)
from headrace.storage.log import LogState, SegmentedLog
from headrace.storage.log_directory import create_directory, set_aside_directory
from headrace.storage.log_port import Admitted
from headrace.storage.recovery import cut_log, recover_log
from headrace.storage.recovery_report import LogRecovery, RecoveryReport
from headrace.storage.swap_files import LEFTOVER_SUFFIXES, finish_swaps
from headrace.storage.write_ahead_log import FrameEntry, read_frames

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.environment.ports import Buffer, Disk
    from headrace.model.topic import TopicPartition
    from headrace.storage.batch_walk import RawHeader
    from headrace.storage.log_environment import LogEnvironment
    from headrace.storage.log_port import Log, LogSpec

_Table = TypeVar("_Table")
_OFFSET_MAX = 2**63 - 1


class StartUp:
    """One start: reads the checkpoints once, then opens each log as cheaply as it allows."""

    def __init__(
        self,
        directory: str,
        environment: LogEnvironment,
        new_memory_log: Callable[[LogSpec], Log],
    ) -> None:
        self._directory = directory
        self._environment = environment
        self._disk = environment.disk
        self._new_memory_log = new_memory_log
        self._report = RecoveryReport()
        self.last_commit_number = 0
        self._was_clean = False
        self.changed_durability: list[SegmentedLog] = []
        """Logs whose topic asks for another durability than they were last written with."""
        self._recovery_points: dict[TopicPartition, int] = {}
        self._recovery_points_are_known = True
        self._compacted_to: dict[TopicPartition, int] = {}
        self._synced_from: dict[TopicPartition, int] = {}

    def open_logs(
        self, specs: Sequence[LogSpec], progress: Callable[[int, int], None] | None
    ) -> tuple[dict[TopicPartition, Log], RecoveryReport]:
        if not self._disk.exists(self._directory):
            self._disk.make_directory(self._directory)
            self._disk.sync_directory(self._directory.rpartition("/")[0] or ".")
        marker = f"{self._directory}/{CLEAN_SHUTDOWN}"
        self._was_clean = was_clean = self._disk.exists(marker)
        self._report.is_clean = was_clean
        starts = self._read(LOG_START_OFFSETS, checkpoints.read_offsets) or {}
        points = self._read(RECOVERY_POINTS, checkpoints.read_offsets)
        stable = self._read(STABLE_OFFSETS, checkpoints.read_stable_offsets) or {}
        self._recovery_points_are_known = points is not None
        self._recovery_points = points or {}
        if not was_clean:
            self._compacted_to = self._read(CLEANER_OFFSETS, checkpoints.read_offsets) or {}
        if was_clean:
            self._disk.remove(marker)
        present = set(self._disk.list(self._directory))
        self._remove_deleted(present)
        logs: dict[TopicPartition, Log] = {}
        for number, spec in enumerate(specs):
            ends = stable.get(spec.partition) if was_clean else None
            logs[spec.partition] = self._open(spec, present, starts.get(spec.partition, 0), ends)
            if progress is not None:
                progress(number + 1, len(specs))
        self._report.log_count = len(logs)
        return logs, self._report

    def _read(self, name: str, read: Callable[[Disk, str], _Table]) -> _Table | None:
        """A checkpoint, or None and a note if it is damaged."""
        try:
            return read(self._disk, f"{self._directory}/{name}")
        except DamagedLog as error:
            self._report.notes.append(f"ignored a damaged checkpoint: {error.message}")
            return None

    def _remove_deleted(self, present: set[str]) -> None:
        """Directories of deleted logs that the last run had no time to remove."""
        for name in [name for name in present if name.endswith(DELETED_DIRECTORY_SUFFIX)]:
            self._disk.remove_tree(f"{self._directory}/{name}")
            present.discard(name)

    # --- one log ----------------------------------------------------------------------------------

    def _open(
        self, spec: LogSpec, present: set[str], log_start_offset: int, ends: tuple[int, int] | None
    ) -> Log:
        if spec.config.storage == "memory":
            return self._new_memory_log(spec)
        directory = f"{self._directory}/{spec.partition}"
        if str(spec.partition) not in present:
            return self._create(directory, spec)
        names = self._disk.list(directory)
        point = self._recovery_points.get(spec.partition, 0)
        if SYNCED_FROM in names:
            self._read_synced_from(directory, spec.partition)
        if ends is not None and ends[0] == point:
            names = self._without_leftovers(directory, spec, names)
            log = self._open_clean(directory, spec, names, log_start_offset, ends)
        else:
            log = self._recover(directory, spec, names, log_start_offset, point)
        if log.is_synced != (SYNCED_FROM in names):
            self.changed_durability.append(log)
        return log

    def _create(self, directory: str, spec: LogSpec) -> SegmentedLog:
        if self._recovery_points.get(spec.partition):
            self._report.notes.append(f"{spec.partition}: directory is missing, begun empty")
        create_directory(self._disk, directory, spec)
        log = SegmentedLog(self._environment, directory, *spec)
        if log.is_synced:
            self.changed_durability.append(log)
        return log

    def _read_synced_from(self, directory: str, partition: TopicPartition) -> None:
        try:
            offset = checkpoints.read_single_offset(self._disk, f"{directory}/{SYNCED_FROM}")
        except DamagedLog as error:
            self._report.notes.append(f"ignored a damaged checkpoint: {error.message}")
        else:
            self._synced_from[partition] = offset

    def _without_leftovers(self, directory: str, spec: LogSpec, names: list[str]) -> list[str]:
        """A clean stop leaves files whose removal was not due yet: nobody else removes them."""
        if not any(name.endswith(LEFTOVER_SUFFIXES) for name in names):
            return names
        recovery = LogRecovery(spec.partition)
        finish_swaps(self._disk, directory, names, recovery)
        self._report.notes += [f"{spec.partition}: {action}" for action in recovery.actions]
        return self._disk.list(directory)

    def _open_clean(
        self,
        directory: str,
        spec: LogSpec,
        names: list[str],
        log_start_offset: int,
        ends: tuple[int, int],
    ) -> SegmentedLog:
        """No file is opened: the names and the checkpoints say all that is needed now."""
        end_offset, stable_offset = ends
        bases = offsets_with(names, LOG_SUFFIX) or [end_offset]
        start_offset = min(max(log_start_offset, bases[0]), end_offset)
        state = LogState(
            bases,
            offsets_with(names, SNAPSHOT_SUFFIX),
            start_offset,
            end_offset,
            stable_offset,
            end_offset,
        )
        return SegmentedLog(self._environment, directory, *spec, state)

    def _recover(
        self, directory: str, spec: LogSpec, names: list[str], log_start_offset: int, point: int
    ) -> SegmentedLog:
        if self._is_of_another_topic(directory, spec, names):
            # Not removed: it may be this very log, and a bit of the id is wrong.
            target = set_aside_directory(self._disk, self._directory, spec)
            self._report.notes.append(f"{spec.partition}: a log of another topic is {target} now")
            return self._create(directory, spec)
        holes_end = self._holes_end(spec, is_synced=SYNCED_FROM in names)
        log, recovery = recover_log(
            self._environment, directory, spec, point, log_start_offset, holes_end
        )
        self._report.add(recovery)
        return log

    def _holes_end(self, spec: LogSpec, *, is_synced: bool) -> int:
        """Up to where offsets may be missing between segments because of compaction."""
        if self._was_clean:
            return _OFFSET_MAX
        if is_synced:
            return 0
        if "compact" in spec.config.cleanup_policy:
            return _OFFSET_MAX
        return self._compacted_to.get(spec.partition, 0)

    def _is_of_another_topic(self, directory: str, spec: LogSpec, names: list[str]) -> bool:
        path = f"{directory}/{PARTITION_METADATA}"
        if PARTITION_METADATA not in names:
            self._disk.replace_file(path, checkpoints.partition_metadata(spec.topic_id))
            return False
        try:
            return checkpoints.read_partition_metadata(self._disk, path) != spec.topic_id
        except DamagedLog as error:
            self._report.notes.append(f"{spec.partition}: rewrote {error.message}")
            self._disk.replace_file(path, checkpoints.partition_metadata(spec.topic_id))
            return False

    # --- the write-ahead log ----------------------------------------------------------------------

    def redo_frames(self, logs: dict[TopicPartition, Log], report: RecoveryReport) -> int:
        """Give each log what the write-ahead log has and it lacks; the last generation."""
        frames, generation = read_frames(self._disk, self._directory)
        ends: dict[TopicPartition, int] = {}
        previous_number = 0
        for frame in frames:
            if previous_number and frame.commit_number != previous_number + 1:
                report.notes.append(
                    f"the write-ahead log lacks appends {previous_number + 1} to"
                    f" {frame.commit_number - 1}"
                )
            previous_number = frame.commit_number
            redone = [self._redo(logs, entry, ends) for entry in frame.entries]
            report.frames_redone += any(redone)
        self.last_commit_number = previous_number
        self._cut_unpromised(logs, ends)
        for partition in ends:
            logs[partition].flush()
        return generation

    def _redo(
        self,
        logs: dict[TopicPartition, Log],
        entry: FrameEntry,
        ends: dict[TopicPartition, int],
    ) -> bool:
        log = logs.get(entry.partition)
        if not isinstance(log, SegmentedLog) or log.topic_id != entry.topic_id:
            return False
        if not _is_whole(entry.batch):
            self._report.notes.append(
                f"{entry.partition}: the write-ahead log has no whole batch for offset"
                f" {entry.base_offset}"
            )
            return False
        header: RawHeader = HEADER.unpack_from(entry.batch)
        end_offset = entry.base_offset + header[6] + 1
        if entry.base_offset > log.log_end_offset:
            self._report.notes.append(
                f"{entry.partition}: could not redo the append at offset {entry.base_offset},"
                f" the log ends at {log.log_end_offset}"
            )
            return False
        ends[entry.partition] = max(ends.get(entry.partition, 0), end_offset)
        if entry.base_offset < log.log_end_offset:
            if end_offset > log.recovery_point:
                _write_again(log, entry)
            return False
        log.redo(Admitted(entry.batch, header, entry.base_offset))
        return True

    def _cut_unpromised(
        self, logs: dict[TopicPartition, Log], ends: dict[TopicPartition, int]
    ) -> None:
        """Under fsync, what neither the medium nor the write-ahead log has for sure must go: it may
        be a part of an append whose other parts are lost. Nobody was told that it is there."""
        if self._was_clean or not self._recovery_points_are_known:
            return
        for partition, synced_from in self._synced_from.items():
            log = logs[partition]
            promised = max(
                self._recovery_points.get(partition, 0), synced_from, ends.get(partition, 0)
            )
            if isinstance(log, SegmentedLog) and log.log_end_offset > promised:
                recovery = LogRecovery(partition)
                cut_log(log, promised, "was never acknowledged", recovery)
                self._report.add(recovery)


def _is_whole(batch: Buffer) -> bool:
    """Whether the bytes are exactly one batch by its own account."""
    if len(batch) < HEADER_SIZE:
        return False
    header: RawHeader = HEADER.unpack_from(batch)
    return header[1] == len(batch) - LENGTH_OVERHEAD and header[3] == MAGIC and header[6] >= 0


def _write_again(log: SegmentedLog, entry: FrameEntry) -> None:
    """After a failed sync the system may show bytes that the medium lacks, and take them for
    written: only a new write makes the next sync mean something."""
    segment = log.segments[log.segment_number(entry.base_offset)]
    segment.load()
    place = segment.find(entry.base_offset)
    if place is not None and place.base_offset == entry.base_offset:
        file = segment.handle.open()
        if file.read_at(place.position, place.size_bytes) == entry.batch:
            file.write_at(place.position, entry.batch)
