"""Keeping only the latest record of each key, one log at a time, beside the loop.

A round: choose the dirtiest log; note the latest offset of each key in its dirty part; write the
remaining records of each group of segments into a new segment; swap that in. The first and the
last step happen on the loop's thread, the reading and writing in short slices in a thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.model.errors import (
    CorruptRecord,
    DamagedLog,
    HeadraceError,
    InvalidRecord,
    RecordTooLarge,
    UnsupportedCompression,
)
from headrace.storage import checkpoints
from headrace.storage.compaction_files import CleanedSegment, Source, clean_group, fill_key_map
from headrace.storage.compaction_filter import (
    KEYS_MAX,
    BatchFilter,
    KeyMap,
    LastBatch,
    TransactionTracker,
)
from headrace.storage.compaction_plan import (
    CompactionPlan,
    group_segments,
    plan_compaction,
    roll_if_overdue,
)
from headrace.storage.compaction_swap import remove_cleaned, swap_in
from headrace.storage.file_names import CLEANER_OFFSETS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from headrace.model.topic import TopicPartition
    from headrace.storage.log import SegmentedLog
    from headrace.storage.log_environment import LogEnvironment
    from headrace.storage.segment import Segment
    from headrace.storage.transaction_index import AbortedTransaction

_DAMAGE = (DamagedLog, CorruptRecord, InvalidRecord, RecordTooLarge, UnsupportedCompression)


class Compactor:
    """Compacts the logs of one node, one at a time. ``run`` is called every few seconds."""

    def __init__(
        self, directory: str, environment: LogEnvironment, *, keys_max: int = KEYS_MAX
    ) -> None:
        self.uncleanable: dict[TopicPartition, HeadraceError] = {}
        """Logs whose content cannot be read. They are left alone until the next start."""
        self.last_failure: BaseException | None = None
        self.rounds = 0
        self.bytes_read = 0
        self.bytes_written = 0
        self._path = f"{directory}/{CLEANER_OFFSETS}"
        self._environment = environment
        self.keys_max = keys_max
        """For the next round; what does not fit waits for the one after it."""
        self._offsets: dict[TopicPartition, int] | None = None
        self._round: CompactionRound | None = None

    @property
    def is_running(self) -> bool:
        return self._round is not None

    def run(self, logs: Iterable[SegmentedLog], now_ms: int) -> None:
        """Begin a round for the log that needs it most, unless one is going on."""
        if self._round is not None:
            return
        known = [log for log in logs if "compact" in log.config.cleanup_policy]
        best: tuple[CompactionPlan, SegmentedLog] | None = None
        for log in known:
            plan = self._plan(log, now_ms)
            if plan is not None and (best is None or plan.urgency > best[0].urgency):
                best = plan, log
        if best is not None:
            plan, log = best
            self._round = CompactionRound(self, self._environment, log, plan, now_ms)
            self._round.begin(KeyMap(self.keys_max))

    def stop(self) -> None:
        """Begin nothing more; what is going on is given up at its next slice."""
        if self._round is not None:
            self._round.is_cancelled = True

    def _plan(self, log: SegmentedLog, now_ms: int) -> CompactionPlan | None:
        if log.is_deleted or log.partition in self.uncleanable:
            return None
        roll_if_overdue(log, now_ms)
        if len(log.segments) == 1:
            return None
        return plan_compaction(log, self._known_offsets().get(log.partition), now_ms)

    def _known_offsets(self) -> dict[TopicPartition, int]:
        if self._offsets is None:
            try:
                self._offsets = checkpoints.read_offsets(self._environment.disk, self._path)
            except DamagedLog:
                # Nothing is lost by it: everything counts as dirty once more.
                self._offsets = {}
        return self._offsets

    # --- called by the round ----------------------------------------------------------------------

    def round_ended(self, log: SegmentedLog, end_offset: int) -> None:
        """Write down how far the log is clean; then the next round may begin."""
        offsets = self._known_offsets()
        offsets[log.partition] = end_offset
        snapshot = dict(offsets)
        self.rounds += 1
        disk, path = self._environment.disk, self._path
        self._environment.background.submit(
            lambda: checkpoints.write_offsets(disk, path, snapshot), self._checkpoint_written
        )

    def _checkpoint_written(self, error: BaseException | None) -> None:
        self.last_failure = error
        self._round = None

    def round_failed(self, log: SegmentedLog, error: BaseException | None) -> None:
        """A log that cannot be read is left alone; anything else is tried again later."""
        self._round = None
        self.last_failure = error
        if isinstance(error, _DAMAGE):
            self.uncleanable[log.partition] = error

    def forget(self, partition: TopicPartition) -> None:
        """The log was deleted; a new one by this name begins dirty."""
        self._known_offsets().pop(partition, None)
        self.uncleanable.pop(partition, None)


class CompactionRound:
    """One log, from the plan to the last swap."""

    def __init__(
        self,
        compactor: Compactor,
        environment: LogEnvironment,
        log: SegmentedLog,
        plan: CompactionPlan,
        now_ms: int,
    ) -> None:
        self.is_cancelled = False
        self._compactor = compactor
        self._environment = environment
        self._log = log
        self._plan = plan
        self._now_ms = now_ms
        self._groups: list[list[Segment]] = []
        self._rules: BatchFilter | None = None
        self._sizes: dict[Segment, int] = {}
        """Segments that are still to be cleaned, with the sizes on which the work is based."""

    def begin(self, keys: KeyMap) -> None:
        for segment in self._plan.segments:
            segment.load()
            self._sizes[segment] = segment.size_bytes
        first_dirty, end_offset = self._plan.first_dirty_offset, self._plan.end_offset
        aborted = self._aborted_transactions()
        job = fill_key_map(
            self._environment.disk,
            _sources(self._plan.segments),
            first_dirty,
            end_offset,
            keys,
            TransactionTracker(aborted),
            self._environment.decompressed_bytes_max,
        )
        self._drive(job, lambda: self._begin_cleaning(keys, aborted))

    def _aborted_transactions(self) -> list[AbortedTransaction]:
        """Their markers may lie after the part that is cleaned, even in the active segment."""
        return [
            entry
            for segment in self._log.segments
            for entry in segment.transaction_index.entries
            if entry.first_offset < self._plan.end_offset
        ]

    def _begin_cleaning(self, keys: KeyMap, aborted: list[AbortedTransaction]) -> None:
        end_offset = keys.latest_offset + 1
        self._plan = self._plan._replace(
            end_offset=end_offset,
            segments=tuple(s for s in self._plan.segments if s.base_offset < end_offset),
        )
        self._sizes = {segment: self._sizes[segment] for segment in self._plan.segments}
        self._groups = group_segments(self._plan.segments, end_offset, self._log.config)
        self._rules = BatchFilter(
            keys,
            TransactionTracker(aborted),
            {
                producer.producer_id: LastBatch(producer.last_offset, producer.epoch)
                for producer in self._log.producer_states
            },
            now_ms=self._now_ms,
            delete_retention_ms=self._log.config.delete_retention_ms,
            decompressed_bytes_max=self._environment.decompressed_bytes_max,
        )
        self._clean_next_group()

    def _clean_next_group(self) -> None:
        if not self._groups:
            self._compactor.round_ended(self._log, self._plan.end_offset)
            return
        group = self._groups.pop(0)
        assert self._rules is not None
        cleaned = CleanedSegment(
            self._environment.disk,
            self._log.directory,
            group[0].base_offset,
            self._log.config.index_interval_bytes,
        )
        job = clean_group(self._environment.disk, _sources(group), self._rules, cleaned)
        self._drive(job, lambda: self._swap(group, cleaned), cleaned)

    def _swap(self, group: list[Segment], cleaned: CleanedSegment) -> None:
        log, disk = self._log, self._environment.disk
        read_bytes = sum(segment.size_bytes for segment in group)
        self._compactor.bytes_read += read_bytes
        self._environment.counters.bytes_compacted += read_bytes
        if not cleaned.is_changed and len(group) == 1:
            remove_cleaned(disk, log.directory, cleaned.base_offset)
        else:
            swap_in(log, group)
            self._compactor.bytes_written += cleaned.size_bytes
        for segment in group:
            del self._sizes[segment]
        self._clean_next_group()

    # --- slices -----------------------------------------------------------------------------------

    def _drive(
        self,
        job: Iterator[None],
        then: Callable[[], None],
        cleaned: CleanedSegment | None = None,
    ) -> None:
        """Run a job slice by slice in the background; ``then`` goes on with the round."""
        ended = False

        def work() -> None:
            nonlocal ended
            ended = next(job, _ENDED) is _ENDED

        def done(error: BaseException | None) -> None:
            if self._is_overtaken():
                # An error is no surprise then: files may be gone.
                self._give_up(job, cleaned, None)
            elif error is not None:
                self._give_up(job, cleaned, error)
            elif not ended:
                self._environment.background.submit(work, done)
            else:
                self._go_on(then, cleaned)

        self._environment.background.submit(work, done)

    def _go_on(self, then: Callable[[], None], cleaned: CleanedSegment | None) -> None:
        try:
            then()
        except (HeadraceError, OSError) as error:
            self._give_up(iter(()), cleaned, error)

    def _is_overtaken(self) -> bool:
        """Whether the log lost or changed segments meanwhile: retention, truncation, deletion."""
        log = self._log
        if self.is_cancelled or log.is_deleted or log.active in self._sizes:
            return True
        current = set(log.segments)
        return any(
            segment not in current or segment.size_bytes != size
            for segment, size in self._sizes.items()
        )

    def _give_up(
        self, job: Iterator[None], cleaned: CleanedSegment | None, error: BaseException | None
    ) -> None:
        close = getattr(job, "close", None)
        if close is not None:
            close()
        if cleaned is not None and not self._log.is_deleted:
            try:
                cleaned.close()
                remove_cleaned(self._environment.disk, self._log.directory, cleaned.base_offset)
            except (HeadraceError, OSError) as second:
                # Recovery removes it at the next start, and the next round writes over it.
                error = error or second
        self._compactor.round_failed(self._log, error)


_ENDED = object()


def _sources(segments: Sequence[Segment]) -> list[Source]:
    return [Source(segment.base_offset, segment.path, segment.size_bytes) for segment in segments]
