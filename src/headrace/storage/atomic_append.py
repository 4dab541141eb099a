"""Appends that go through the write-ahead log: several partitions at once, and durability=fsync.

Order matters: all checks, one frame, all segments' bytes, and only then the logs' state. Until the
last step everything can be taken back, so an append happens to all of its logs or to none.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from headrace.model.errors import HeadraceError, InvalidRequest, UnknownTopicOrPartition
from headrace.storage.log_port import Admitted, Appended, Origin
from headrace.storage.write_ahead_log import WriteAheadLog, entry_head

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.environment.ports import Background, Buffer, Disk, DiskFile
    from headrace.metrics.registry import StorageCounters
    from headrace.storage.log import SegmentedLog
    from headrace.storage.log_port import Log
    from headrace.storage.log_syncing import SyncJob

ENTRIES_MAX = 65_536


class AtomicAppend:
    """The write-ahead log with the logs that depend on it."""

    def __init__(
        self,
        directory: str,
        disk: Disk,
        background: Background,
        size_bytes_max: int,
        recovery_point_writer: Callable[[], Callable[[], None]],
        *,
        counters: StorageCounters,
        sync_file: Callable[[DiskFile], None],
    ) -> None:
        """``recovery_point_writer`` takes the points as they are and gives a function that writes
        them; that one touches nothing but the file, so it may run in a thread."""
        self._background = background
        self._recovery_point_writer = recovery_point_writer
        self.wal = WriteAheadLog(
            directory,
            disk,
            background,
            size_bytes_max,
            self._release,
            self._release_now,
            counters=counters,
            sync_file=sync_file,
        )
        self.wal.on_synced = self._advance_high_watermarks
        self._covered: list[dict[SegmentedLog, bytes]] = [{}, {}]
        """The logs that each file has frames of, with the head of their entries."""
        self._unsynced: deque[tuple[int, Log, int]] = deque()

    def append(
        self, entries: Sequence[tuple[Log, Buffer]], origin: Origin, now_ms: int
    ) -> list[Appended]:
        if len(entries) > ENTRIES_MAX:
            raise InvalidRequest(f"an append of {len(entries)} entries, the limit is {ENTRIES_MAX}")
        admissions, by_log = _admit_all(entries, origin, now_ms)
        commit_number = self._write_frame(by_log)
        try:
            _write_all(by_log, now_ms)
        except HeadraceError:
            if commit_number:
                self.wal.undo_last()
            raise
        needs_sync = any(log.is_synced for log, _ in entries)
        answer_number = commit_number or self.wal.commit_number if needs_sync else 0
        appended = [
            log.apply_admitted(admission, answer_number)
            if isinstance(admission, Admitted)
            else admission._replace(commit_number=answer_number)
            for (log, _), admission in zip(entries, admissions, strict=True)
        ]
        self._publish(by_log, commit_number)
        if needs_sync and commit_number:
            self.wal.request_sync()
        return appended

    def append_synced(
        self, log: SegmentedLog, batch: Buffer, origin: Origin, now_ms: int
    ) -> Appended:
        """``append`` of one batch to a log that is synced: what nearly every one of them is."""
        wal = self.wal
        base_offset = log.log_end_offset
        admission = log.admit(batch, origin, now_ms, base_offset)
        if not isinstance(admission, Admitted):
            return admission._replace(commit_number=wal.commit_number)
        head = self._covered[wal.active].get(log) or entry_head(log.partition, log.topic_id)
        commit_number = wal.append_one(head, base_offset, admission.batch)
        self._covered[wal.active][log] = head
        try:
            log.write_one(admission, now_ms)
        except HeadraceError:
            wal.undo_last()
            raise
        appended = log.apply_admitted(admission, commit_number)
        self._unsynced.append((commit_number, log, log.log_end_offset))
        wal.request_sync()
        return appended

    def _write_frame(self, by_log: dict[Log, list[Admitted]]) -> int:
        """The frame's commit number; 0 if no log of it outlives the process."""
        wal = self.wal
        covered = self._covered[wal.active]
        heads: dict[Log, bytes] = {}
        frame: list[tuple[bytes, int, Buffer]] = []
        for log, admitted in by_log.items():
            if log.is_persistent:
                head = covered.get(log) or entry_head(log.partition, log.topic_id)  # type: ignore[call-overload]
                heads[log] = head
                for batch, _, base_offset in admitted:
                    frame.append((head, base_offset, batch))
        if not frame:
            return 0
        number = wal.append(frame)
        self._covered[wal.active].update(heads)  # type: ignore[arg-type]
        return number

    def _publish(self, by_log: dict[Log, list[Admitted]], commit_number: int) -> None:
        for log in by_log:
            if log.is_synced:
                self._unsynced.append((commit_number, log, log.log_end_offset))
            else:
                log.advance_high_watermark(log.log_end_offset)

    def _advance_high_watermarks(self, synced_number: int) -> None:
        unsynced = self._unsynced
        reached: dict[Log, int] = {}
        while unsynced and unsynced[0][0] <= synced_number:
            _, log, end_offset = unsynced.popleft()
            reached[log] = end_offset
        for log, end_offset in reached.items():
            if not log.is_deleted:
                log.advance_high_watermark(end_offset)

    # --- giving the write-ahead log's files free again --------------------------------------------

    def _release(self, number: int, generation: int) -> None:
        logs = self._synced_logs(number)
        if any(log.failure is not None for log in logs):
            # Its records are nowhere else for sure: the file stays as it is until the next start.
            return
        jobs = [log.sync_job() for log in logs]

        def work() -> None:
            for job in jobs:
                job.work()

        def done(error: BaseException | None) -> None:
            _finish(jobs, error)
            if error is None and all(log.failure is None for log in logs):
                self._background.submit(
                    self._recovery_point_writer(),
                    lambda error: self._released(number, generation, error),
                )

        self._background.submit(work, done)

    def _released(self, number: int, generation: int, error: BaseException | None) -> None:
        # With an error the file stays taken; the next turn flushes before it is overwritten.
        if error is None:
            self.wal.released(number, generation)

    def _release_now(self, number: int) -> None:
        """The other file is full as well: the writer has to wait for the medium."""
        self._flush_covered(number)
        self._covered[number] = {}

    def _flush_covered(self, number: int) -> None:
        for log in self._synced_logs(number):
            log.flush()
        self._recovery_point_writer()()

    def _synced_logs(self, number: int) -> list[SegmentedLog]:
        return [log for log in self._covered[number] if log.is_synced and not log.is_deleted]

    # --- the logs' other doings -------------------------------------------------------------------

    def truncating(self, log: SegmentedLog, offset: int) -> None:
        """A frame must not bring back what is about to be cut: end the life of all frames first.

        Nor may recovery trust what will follow after the cut.
        """
        if any(log in covered for covered in self._covered):
            self._flush_covered(0)
            self._flush_covered(1)
            self.wal.restart()
            self._covered = [{}, {}]
        if log.recovery_point > offset:
            # What will be written in place of the old records is not on the medium yet.
            log.recovery_point = offset
            self._recovery_point_writer()()

    def forget(self, log: Log) -> None:
        """The log was deleted."""
        for covered in self._covered:
            covered.pop(log, None)  # type: ignore[call-overload]


def _admit_all(
    entries: Sequence[tuple[Log, Buffer]], origin: Origin, now_ms: int
) -> tuple[list[Admitted | Appended], dict[Log, list[Admitted]]]:
    """What became of each entry, and for each log what is to be written to it."""
    producers: set[tuple[Log, int]] = set()
    admissions: list[Admitted | Appended] = []
    by_log: dict[Log, list[Admitted]] = {}
    for log, batch in entries:
        if log.is_deleted:
            raise UnknownTopicOrPartition(f"{log.partition} was deleted")
        before = by_log.get(log)
        base_offset = log.log_end_offset if before is None else _end_offset(before[-1])
        admission = log.admit(batch, origin, now_ms, base_offset)
        admissions.append(admission)
        if isinstance(admission, Admitted):
            if before is None:
                by_log[log] = [admission]
            else:
                before.append(admission)
            if origin is Origin.CLIENT and admission.header[9] >= 0:
                _raise_if_twice(producers, log, admission.header[9])
    return admissions, by_log


def _end_offset(admitted: Admitted) -> int:
    return admitted.base_offset + admitted.header[6] + 1


def _raise_if_twice(producers: set[tuple[Log, int]], log: Log, producer_id: int) -> None:
    """Sequences are checked against what is written, so one append may bring each producer once."""
    if (log, producer_id) in producers:
        raise InvalidRequest(f"producer {producer_id} has two batches for {log.partition}")
    producers.add((log, producer_id))


def _write_all(by_log: dict[Log, list[Admitted]], now_ms: int) -> None:
    written: list[Log] = []
    try:
        for log, admitted in by_log.items():
            log.write_admitted(admitted, now_ms)
            written.append(log)
    except HeadraceError:
        for log in written:
            log.undo_write()
        raise


def _finish(jobs: Sequence[SyncJob], error: BaseException | None) -> None:
    for job in jobs:
        job.done(error)
