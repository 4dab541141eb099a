"""One partition's log on disk: append, read, roll, truncate.

``append_batch`` is the hot path of the whole broker: one header unpacked, one write, plain
attributes. Whatever fails before or in the write leaves the log as it was.
"""

from __future__ import annotations

from bisect import bisect_right
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from crc32c import crc32c

from headrace.model.errors import DamagedLog, HeadraceError, OffsetOutOfRange
from headrace.records.header import CONTROL
from headrace.storage import aborted_lookup, log_syncing, log_trimming, time_lookup
from headrace.storage.batch_validation import (
    BatchRules,
    apply_rules,
    check_client_batch,
    check_coordinator_batch,
)
from headrace.storage.batch_walk import RawHeader, walk_batches
from headrace.storage.control_batch import read_end_marker
from headrace.storage.file_names import LEADER_EPOCHS
from headrace.storage.leader_epochs import LeaderEpochs
from headrace.storage.log_port import NO_TIMESTAMP, Admitted, Appended, Log, Origin, ProducerView
from headrace.storage.log_slice import BytesSlice, FileSlice, LogSlice
from headrace.storage.producer_snapshots import ProducerSnapshots
from headrace.storage.producer_state import (
    CompletedTransaction,
    KnownBatch,
    ProducerStates,
)
from headrace.storage.segment import Segment
from headrace.storage.transaction_index import AbortedTransaction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from headrace.config.topic import TopicConfig
    from headrace.environment.ports import Buffer
    from headrace.model.topic import TopicId, TopicPartition
    from headrace.storage.log_environment import LogEnvironment
    from headrace.storage.log_syncing import SyncJob

_STAMP = Struct(">qii")
"""Base offset, length, leader epoch: the first sixteen bytes, all outside of the checksum."""
_stamp_into = _STAMP.pack_into
_CLIENT = Origin.CLIENT
_new_tuple = tuple.__new__
"""Half the price of a NamedTuple's own constructor; for the hot path."""


class LogState(NamedTuple):
    """What is known of a log's files when it is opened."""

    segment_bases: Sequence[int]
    snapshot_offsets: Sequence[int]
    log_start_offset: int
    log_end_offset: int
    last_stable_offset: int
    recovery_point: int


EMPTY_LOG = LogState((0,), (), 0, 0, 0, 0)


class SegmentedLog:
    """Segments in ascending order; the last one is active. See ``Log`` for the public part."""

    is_persistent = True

    def __init__(
        self,
        environment: LogEnvironment,
        directory: str,
        partition: TopicPartition,
        topic_id: TopicId,
        config: TopicConfig,
        leader_epoch: int,
        state: LogState = EMPTY_LOG,
    ) -> None:
        self.environment = environment
        self.directory = directory
        self.partition = partition
        self.topic_id = topic_id
        self.leader_epoch = leader_epoch
        self.listener: Callable[[Log], None] | None = None
        self.log_start_offset = state.log_start_offset
        self.log_end_offset = state.log_end_offset
        self.high_watermark = state.log_end_offset
        self.last_stable_offset = state.last_stable_offset
        self.recovery_point = state.recovery_point
        self.truncation_count = 0
        self.is_deleted = False
        self.failure: BaseException | None = None
        """Why this log takes no records until the next start; see ``log_syncing.fail``."""
        self._rolled_bytes = 0
        self._unflushed_since_ms = environment.clock.now_ms()
        self.epochs = LeaderEpochs(environment.disk, f"{directory}/{LEADER_EPOCHS}")
        self._epoch_written = -1
        self.snapshots = ProducerSnapshots(environment, directory, state.snapshot_offsets)
        self.producer_states = ProducerStates(self._load_producers)
        self.configure(config)
        self.segments = [
            Segment(environment.files, directory, base, config, self._unflushed_since_ms)
            for base in state.segment_bases
        ]
        self.active = self.segments[-1]

    def configure(self, config: TopicConfig) -> None:
        """Take over new settings; they hold from the next append on."""
        self.config = config
        self.is_synced = config.durability == "fsync"
        self.is_direct = not self.is_synced and self.failure is None
        self._rules = BatchRules(config, self.environment.decompressed_bytes_max)
        self._flush_at_offset = self.recovery_point + config.flush_messages
        if hasattr(self, "active") and self.active.is_loaded:
            self.active.set_limits(config)

    # --- append -----------------------------------------------------------------------------------

    def append_batch(self, batch: Buffer, origin: Origin, now_ms: int) -> Appended:
        """Check, stamp and write one batch; the high watermark follows at once."""
        rules = self._rules
        if origin is _CLIENT:
            header = check_client_batch(batch, rules, now_ms)
            if header[9] >= 0:
                duplicate = self.producer_states.check(header)
                if duplicate is not None:
                    return self._answer_duplicate(duplicate)
            if rules.is_demanding:
                batch, header = apply_rules(batch, header, rules, now_ms)  # type: ignore[arg-type]
        else:
            header = check_coordinator_batch(batch, rules)
            if header[9] >= 0:
                self.producer_states.check_epoch(header)
        base_offset = self.log_end_offset
        last_offset = base_offset + header[6]
        if self.leader_epoch != self._epoch_written:
            self._begin_epoch(base_offset)
        size = len(batch)
        segment = self.active
        position = segment.size_bytes
        if (
            position + size > segment.size_limit_bytes
            or header[8] > segment.roll_after_ms
            or last_offset > segment.offset_max
        ):
            segment = self._segment_for(size, header[8], last_offset, now_ms)
            position = segment.size_bytes
        _stamp_into(batch, 0, base_offset, header[1], self.leader_epoch)
        handle = segment.handle
        try:
            (handle.file or handle.open()).write_at(position, batch)
        except HeadraceError:
            segment.undo_write()
            raise
        handle.used = True
        segment.note_append(base_offset, last_offset, size, header[8])
        states = self.producer_states
        if header[9] >= 0:
            if header[5] & CONTROL:
                self._record_marker(header, base_offset, batch)
            else:
                states.record(header, base_offset)
        self.log_end_offset = self.high_watermark = end_offset = last_offset + 1
        self.last_stable_offset = (
            states.first_unstable_offset(end_offset) if states.has_transactions else end_offset
        )
        if end_offset >= self._flush_at_offset:
            self.flush()
        if self.listener is not None:
            self.listener(self)
        log_append_time_ms = header[8] if rules.is_log_append_time else NO_TIMESTAMP
        return _new_tuple(
            Appended,
            (base_offset, last_offset, log_append_time_ms, self.log_start_offset, 0, False),
        )

    def admit(
        self, batch: Buffer, origin: Origin, now_ms: int, base_offset: int
    ) -> Admitted | Appended:
        """The first half of an append that goes through the write-ahead log: checks and stamps."""
        if self.failure is not None:
            log_syncing.raise_failure(self)
        rules = self._rules
        if origin is _CLIENT:
            header = check_client_batch(batch, rules, now_ms)
            if header[9] >= 0:
                duplicate = self.producer_states.check(header)
                if duplicate is not None:
                    return self._answer_duplicate(duplicate)
            if rules.is_demanding:
                batch, header = apply_rules(batch, header, rules, now_ms)  # type: ignore[arg-type]
        else:
            header = check_coordinator_batch(batch, rules)
            if header[9] >= 0:
                self.producer_states.check_epoch(header)
        _stamp_into(batch, 0, base_offset, header[1], self.leader_epoch)
        return _new_tuple(Admitted, (batch, header, base_offset))

    def write_admitted(self, admitted: Sequence[Admitted], now_ms: int) -> None:
        """Bring the bytes into the segment; nothing else changes, ``undo_write`` takes it back."""
        if len(admitted) == 1:
            self.write_one(admitted[0], now_ms)
            return
        if self.leader_epoch != self._epoch_written:
            self._begin_epoch(admitted[0].base_offset)
        size = sum(len(entry.batch) for entry in admitted)
        last = admitted[-1]
        max_timestamp_ms = max(entry.header[8] for entry in admitted)
        last_offset = last.base_offset + last.header[6]
        segment = self._segment_for(size, max_timestamp_ms, last_offset, now_ms)
        if segment.handle.creates:
            self._create_file(segment)
        try:
            segment.handle.open().write_all_at(
                segment.size_bytes, [entry.batch for entry in admitted]
            )
        except HeadraceError:
            segment.undo_write()
            raise

    def write_one(self, entry: Admitted, now_ms: int) -> None:
        """``write_admitted`` of a single batch."""
        if self.leader_epoch != self._epoch_written:
            self._begin_epoch(entry.base_offset)
        header, size = entry.header, len(entry.batch)
        last_offset = entry.base_offset + header[6]
        segment = self.active
        if (
            segment.size_bytes + size > segment.size_limit_bytes
            or header[8] > segment.roll_after_ms
            or last_offset > segment.offset_max
        ):
            segment = self._segment_for(size, header[8], last_offset, now_ms)
        handle = segment.handle
        if handle.creates:
            self._create_file(segment)
        try:
            (handle.file or handle.open()).write_at(segment.size_bytes, entry.batch)
        except HeadraceError:
            segment.undo_write()
            raise
        handle.used = True

    def undo_write(self) -> None:
        self.active.undo_write()

    def apply_admitted(self, entry: Admitted, commit_number: int) -> Appended:
        """The second half: the bytes are written, now the log has them. Nothing here may fail."""
        header, base_offset = entry.header, entry.base_offset
        last_offset = base_offset + header[6]
        self.active.note_append(base_offset, last_offset, len(entry.batch), header[8])
        if header[9] >= 0:
            if header[5] & CONTROL:
                self._record_marker(header, base_offset, entry.batch)
            else:
                self.producer_states.record(header, base_offset)
        self.log_end_offset = last_offset + 1
        log_append_time_ms = header[8] if self._rules.is_log_append_time else NO_TIMESTAMP
        return _new_tuple(
            Appended,
            (
                base_offset,
                last_offset,
                log_append_time_ms,
                self.log_start_offset,
                commit_number,
                False,
            ),
        )

    def redo(self, entry: Admitted) -> None:
        """Recovery: append a batch that has its offset and epoch already."""
        self.epochs.assign(entry.header[2], entry.base_offset)
        self.write_admitted([entry], self.environment.clock.now_ms())
        self.apply_admitted(entry, 0)
        self.advance_high_watermark(self.log_end_offset)

    def advance_high_watermark(self, offset: int) -> None:
        """Records below ``offset`` are as durable as the topic demands: show them."""
        if offset > self.high_watermark:
            self.high_watermark = min(offset, self.log_end_offset)
        states = self.producer_states
        self.last_stable_offset = (
            states.first_unstable_offset(self.high_watermark)
            if states.has_transactions
            else self.high_watermark
        )
        if self.listener is not None:
            self.listener(self)

    def notify(self) -> None:
        if self.listener is not None:
            self.listener(self)

    def _answer_duplicate(self, known: KnownBatch) -> Appended:
        log_append_time_ms = known.timestamp_ms if self._rules.is_log_append_time else NO_TIMESTAMP
        return Appended(
            known.base_offset,
            known.last_offset,
            log_append_time_ms,
            self.log_start_offset,
            0,
            True,
        )

    def _begin_epoch(self, base_offset: int) -> None:
        self.epochs.assign(self.leader_epoch, base_offset)
        self._epoch_written = self.leader_epoch

    def _record_marker(self, header: RawHeader, base_offset: int, batch: Buffer) -> None:
        marker = read_end_marker(batch)
        if marker is not None:
            completed = self.producer_states.record_marker(header, base_offset, marker)
            if completed is not None:
                self.note_completed(self.active, completed)

    def note_completed(self, segment: Segment, completed: CompletedTransaction) -> None:
        """A transaction has ended; readers of committed records must hear of an abort."""
        if completed.is_aborted:
            segment.transaction_index.append(
                AbortedTransaction(
                    completed.producer_id,
                    completed.first_offset,
                    completed.last_offset,
                    completed.last_stable_offset,
                )
            )

    # --- rolling ----------------------------------------------------------------------------------

    def _segment_for(
        self, size: int, max_timestamp_ms: int, last_offset: int, now_ms: int
    ) -> Segment:
        """The segment that takes the next batch; makes a new one when it is time."""
        segment = self.load_active()
        if segment.must_roll(self.config, size, max_timestamp_ms, last_offset, now_ms):
            segment = self.roll(now_ms)
        if not segment.size_bytes:
            segment.first_timestamp_ms = max_timestamp_ms
            segment.roll_after_ms = max_timestamp_ms + self.config.segment_ms - segment.jitter_ms
            if max_timestamp_ms < 0:
                segment.roll_after_ms = max_timestamp_ms - 1
        return segment

    def load_active(self) -> Segment:
        """The active segment with all that appending needs to know."""
        segment = self.active
        if not segment.is_loaded:
            if len(self.segments) == 1 and segment.base_offset == self.log_end_offset:
                self._start_or_load_empty(segment)
            else:
                segment.load(self.log_end_offset)
                self._raise_if_not_whole(segment)
            self.prepare_active()
        return segment

    def _raise_if_not_whole(self, segment: Segment) -> None:
        """What is written behind damage would be out of reach after the next start."""
        if not segment.is_whole_up_to(self.log_end_offset):
            segment.is_loaded = False
            error = DamagedLog(f"{segment.path} does not end at offset {self.log_end_offset}")
            log_syncing.fail(self, error)
            raise error

    def prepare_active(self) -> None:
        """Work out when the active segment is full or old enough to be closed."""
        self.active.jitter_ms = self._jitter_ms(self.active.base_offset)
        self.active.set_limits(self.config)

    def _start_or_load_empty(self, segment: Segment) -> None:
        if self.environment.disk.exists(segment.path):
            segment.load(self.log_end_offset)
        else:
            segment.start_empty()

    def _jitter_ms(self, base_offset: int) -> int:
        """Spreads the rolls of many partitions in time; the same for each start of the broker."""
        jitter_max_ms = min(self.config.segment_jitter_ms, self.config.segment_ms)
        if jitter_max_ms <= 0:
            return 0
        return int(crc32c(f"{self.partition}:{base_offset}".encode()) % jitter_max_ms)

    def roll(self, now_ms: int) -> Segment:
        """Close the active segment and begin one at the log's end."""
        old = self.load_active()
        end_offset = self.log_end_offset
        if old.base_offset == end_offset:
            return old
        old.finish()
        self.snapshots.take(end_offset, self.producer_states)
        segment = self._new_segment(end_offset, now_ms)
        self.segments.append(segment)
        self.active = segment
        self._rolled_bytes += old.size_bytes
        self.environment.counters.segments_rolled += 1
        # Once a closed segment is on the medium, recovery need not look at it again.
        job = log_syncing.segment_sync_job(self, [old], end_offset)
        self.environment.background.submit(job.work, job.done)
        return segment

    def _new_segment(self, base_offset: int, now_ms: int) -> Segment:
        segment = Segment(self.environment.files, self.directory, base_offset, self.config, now_ms)
        segment.start_empty()
        segment.jitter_ms = self._jitter_ms(base_offset)
        segment.set_limits(self.config)
        # At once, and not with the first batch: if all before it goes, its name alone keeps the
        # log's end.
        self._create_file(segment)
        return segment

    def _create_file(self, segment: Segment) -> None:
        segment.handle.open()
        if self.is_synced:
            # No segment may outlive one before it: recovery could not see that there is a hole.
            self.environment.disk.sync_directory(self.directory)

    def restart_at(self, base_offset: int) -> None:
        """All segments are gone: go on with an empty one."""
        self.active = self._new_segment(base_offset, self.environment.clock.now_ms())
        self.segments = [self.active]

    def sync_job(self) -> SyncJob:
        return log_syncing.sync_job(self)

    def raise_recovery_point(self, offset: int) -> None:
        """Records below ``offset`` are on the medium."""
        self.recovery_point = max(self.recovery_point, min(offset, self.log_end_offset))
        self._flush_at_offset = self.recovery_point + self.config.flush_messages

    # --- read -------------------------------------------------------------------------------------

    def read(
        self, offset: int, max_bytes: int, end_offset: int, *, at_least_one: bool
    ) -> FileSlice | BytesSlice:
        """Bytes from the batch that holds ``offset`` on; no batch at or above ``end_offset``."""
        if offset < self.log_start_offset or offset > self.log_end_offset:
            self._raise_out_of_range(offset)
        if offset >= end_offset:
            return BytesSlice(b"", offset)
        segment = self.active
        if offset < segment.base_offset:
            return self._read_closed(offset, max_bytes, end_offset, at_least_one)
        if not segment.is_loaded:
            self.load_active()
        return self._read_segment(
            segment, offset, max_bytes, end_offset, at_least_one
        ) or BytesSlice(b"", offset)

    def _read_closed(
        self, offset: int, max_bytes: int, end_offset: int, at_least_one: bool
    ) -> FileSlice | BytesSlice:
        """Compaction may leave nothing at ``offset`` in its segment: then the next one answers."""
        number = self.segment_number(offset)
        for segment in self.segments[number:]:
            if segment is self.active:
                self.load_active()
            segment.load()
            found = self._read_segment(segment, offset, max_bytes, end_offset, at_least_one)
            if found is not None:
                return found
        return BytesSlice(b"", offset)

    def _read_segment(
        self, segment: Segment, offset: int, max_bytes: int, end_offset: int, at_least_one: bool
    ) -> FileSlice | BytesSlice | None:
        place = segment.find(offset)
        if place is None:
            return None
        base_offset, start, first_size = place
        if base_offset >= end_offset:
            if base_offset >= self.log_end_offset:
                raise DamagedLog(f"{segment.path}: offset {base_offset} at byte {start}")
            return BytesSlice(b"", offset)
        if max_bytes < first_size:
            size = first_size if at_least_one else 0
        else:
            end = segment.position_of_end(end_offset, start, max_bytes)
            size = end - start
            if size > max_bytes:
                size = segment.boundary_before(start + max_bytes, start + first_size) - start
        return FileSlice(segment.handle, start, size, base_offset)

    def segment_number(self, offset: int) -> int:
        """Index of the segment that holds ``offset``."""
        number = bisect_right(self.segments, offset, key=_base_offset_of) - 1
        return max(number, 0)

    def _raise_out_of_range(self, offset: int) -> None:
        raise OffsetOutOfRange(
            f"offset {offset} of {self.partition} is outside of"
            f" {self.log_start_offset}..{self.log_end_offset}"
        )

    def records_from(self, offset: int | None = None) -> Iterator[bytes]:
        """Whole batches, checksums verified, from the one that holds ``offset`` to the end."""
        start = self.log_start_offset if offset is None else offset
        self.load_active()
        for segment in self.segments[self.segment_number(start) :]:
            segment.load()
            place = segment.find(start)
            if place is None:
                continue
            for position, header, batch in walk_batches(
                segment.handle.open(), place.position, segment.size_bytes
            ):
                time_lookup.raise_if_damaged(segment, position, header, batch)
                yield bytes(batch)

    def aborted_transactions(self, offset: int, end_offset: int) -> list[tuple[int, int]]:
        return aborted_lookup.aborted_transactions(self, offset, end_offset)

    def aborted_in(self, records: LogSlice, offset: int, end_offset: int) -> list[tuple[int, int]]:
        return aborted_lookup.aborted_in(self, records, offset, end_offset)

    def offset_for_timestamp(self, timestamp_ms: int) -> tuple[int, int] | None:
        return time_lookup.offset_for_timestamp(self, timestamp_ms)

    def offset_of_max_timestamp(self) -> tuple[int, int] | None:
        return time_lookup.offset_of_max_timestamp(self)

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        return self.epochs.end_offset_for(epoch, self.log_end_offset)

    def producers(self) -> list[ProducerView]:
        return self.producer_states.views()

    def expire_producers(self, now_ms: int, expiration_ms: int) -> int:
        return self.producer_states.expire(now_ms, expiration_ms)

    @property
    def appended_bytes(self) -> int:
        return self._rolled_bytes + self.active.size_bytes

    @property
    def size_bytes(self) -> int:
        return sum(segment.known_size() for segment in self.segments)

    # --- shortening, flushing, closing ------------------------------------------------------------

    def delete_records_before(self, offset: int) -> int:
        return log_trimming.delete_records_before(self, offset)

    def truncate_to(self, offset: int) -> None:
        log_trimming.truncate_to(self, offset)

    def _load_producers(self) -> None:
        self.load_active()
        self.snapshots.load(self.producer_states, self.segments, self.log_end_offset)

    def reload_producers(self) -> None:
        """After a cut: back to what the remaining records say."""
        self.producer_states.clear()
        self._load_producers()

    def flush(self) -> None:
        log_syncing.flush(self)

    def close(self) -> None:
        """Leave the files as a clean stop should; a log that nobody touched is left alone."""
        if self.failure is not None:
            log_syncing.raise_failure(self)
        if self.active.is_loaded and (self.active.size_bytes or not self.active.handle.creates):
            self.active.time_index.maybe_append(
                self.active.max_timestamp_ms, self.active.max_timestamp_offset
            )
            self.active.write_indexes()
            self.snapshots.take(self.log_end_offset, self.producer_states)
            self.snapshots.remove_strays(
                [segment.base_offset for segment in self.segments], self.log_end_offset
            )
            log_syncing.sync_records(self)
        self.close_files()

    def is_flush_due(self, now_ms: int) -> bool:
        """Whether the oldest record that is not on the medium has waited for ``flush.ms``."""
        if self.recovery_point >= self.log_end_offset or self.failure is not None:
            self._unflushed_since_ms = now_ms
            return False
        return now_ms - self._unflushed_since_ms >= self.config.flush_ms

    def retire_files(self) -> None:
        """The log is about to be deleted: close each file as soon as no reader holds it."""
        for segment in self.segments:
            segment.retire()

    def close_files(self) -> None:
        for segment in self.segments:
            for handle in segment.handles():
                handle.close()


def _base_offset_of(segment: Segment) -> int:
    return segment.base_offset
