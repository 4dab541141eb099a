"""A log that lives in memory alone (``storage=memory``): same port, same rules, gone at the stop.

Its size is bounded by the topic's ``retention.bytes``, or by a limit of its own if that is unset.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from headrace.model.errors import OffsetOutOfRange
from headrace.records.decode import decode_records
from headrace.records.header import stamp
from headrace.storage.batch_validation import (
    BatchRules,
    apply_rules,
    check_client_batch,
    check_coordinator_batch,
)
from headrace.storage.control_batch import read_end_marker
from headrace.storage.leader_epochs import LeaderEpochs
from headrace.storage.log_port import NO_TIMESTAMP, Admitted, Appended, Log, Origin, ProducerView
from headrace.storage.log_slice import BytesSlice, LogSlice
from headrace.storage.producer_state import CompletedTransaction, ProducerStates, is_end_marker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from headrace.config.topic import TopicConfig
    from headrace.environment.ports import Buffer
    from headrace.model.topic import TopicId, TopicPartition
    from headrace.storage.batch_walk import RawHeader

SIZE_BYTES_MAX = 1024 * 1024 * 1024
"""Where ``retention.bytes`` sets no limit, memory does."""


class MemoryLog:
    """Batches in a list, found by bisection."""

    is_synced = False
    is_persistent = False

    def __init__(
        self,
        partition: TopicPartition,
        topic_id: TopicId,
        config: TopicConfig,
        leader_epoch: int,
        *,
        decompressed_bytes_max: int,
    ) -> None:
        self.partition = partition
        self.topic_id = topic_id
        self.leader_epoch = leader_epoch
        self.listener: Callable[[Log], None] | None = None
        self.log_start_offset = self.log_end_offset = 0
        self.high_watermark = self.last_stable_offset = 0
        self.is_deleted = False
        self.is_direct = True
        self.size_bytes = 0
        self.appended_bytes = 0
        self.epochs = LeaderEpochs(None, "")
        self.producer_states = ProducerStates()
        self._decompressed_bytes_max = decompressed_bytes_max
        self._offsets: list[int] = []
        self._batches: list[bytes] = []
        self._max_timestamps: list[int] = []
        self._aborted: list[CompletedTransaction] = []
        self.configure(config)

    def configure(self, config: TopicConfig) -> None:
        self.config = config
        self._rules = BatchRules(config, self._decompressed_bytes_max)
        self._size_max = config.retention_bytes if config.retention_bytes >= 0 else SIZE_BYTES_MAX

    # --- append -----------------------------------------------------------------------------------

    def append_batch(self, batch: Buffer, origin: Origin, now_ms: int) -> Appended:
        admitted = self.admit(batch, origin, now_ms, self.log_end_offset)
        if isinstance(admitted, Appended):
            return admitted
        appended = self.apply_admitted(admitted, 0)
        self.advance_high_watermark(self.log_end_offset)
        return appended

    def admit(
        self, batch: Buffer, origin: Origin, now_ms: int, base_offset: int
    ) -> Admitted | Appended:
        rules = self._rules
        if origin is Origin.CLIENT:
            header = check_client_batch(batch, rules, now_ms)
            known = self.producer_states.check(header) if header[9] >= 0 else None
            if known is not None:
                return self._appended(
                    known.base_offset, known.last_offset, known.timestamp_ms, True
                )
            if rules.is_demanding:
                batch, header = apply_rules(batch, header, rules, now_ms)  # type: ignore[arg-type]
        else:
            header = check_coordinator_batch(batch, rules)
            if header[9] >= 0:
                self.producer_states.check_epoch(header)
        stamp(batch, 0, base_offset, self.leader_epoch)  # type: ignore[arg-type]
        return Admitted(batch, header, base_offset)

    def write_admitted(self, admitted: Sequence[Admitted], now_ms: int) -> None:
        """Nothing to do before ``apply_admitted``: memory does not fail half-way."""

    def undo_write(self) -> None:
        """See ``write_admitted``."""

    def apply_admitted(self, entry: Admitted, commit_number: int) -> Appended:
        header, base_offset = entry.header, entry.base_offset
        last_offset = base_offset + header[6]
        if self.epochs.latest != self.leader_epoch:
            self.epochs.assign(self.leader_epoch, base_offset)
        self._offsets.append(base_offset)
        self._batches.append(bytes(entry.batch))
        self._max_timestamps.append(header[8])
        self.size_bytes += len(entry.batch)
        self.appended_bytes += len(entry.batch)
        self.log_end_offset = last_offset + 1
        if header[9] >= 0:
            self._record_producer(header, base_offset, entry.batch)
        if self.size_bytes > self._size_max:
            self._drop_oldest()
        appended = self._appended(base_offset, last_offset, header[8], False)
        return appended._replace(commit_number=commit_number) if commit_number else appended

    def _appended(
        self, base_offset: int, last_offset: int, timestamp_ms: int, is_duplicate: bool
    ) -> Appended:
        shown_ms = timestamp_ms if self._rules.is_log_append_time else NO_TIMESTAMP
        return Appended(base_offset, last_offset, shown_ms, self.log_start_offset, 0, is_duplicate)

    def _record_producer(self, header: RawHeader, base_offset: int, batch: Buffer) -> None:
        if not is_end_marker(header):
            self.producer_states.record(header, base_offset)
            return
        marker = read_end_marker(batch)
        if marker is not None:
            completed = self.producer_states.record_marker(header, base_offset, marker)
            if completed is not None and completed.is_aborted:
                self._aborted.append(completed)

    def _drop_oldest(self) -> None:
        """Give the oldest batches back until the limit holds; the newest one always stays."""
        count, size = 0, self.size_bytes
        while size > self._size_max and count < len(self._batches) - 1:
            size -= len(self._batches[count])
            count += 1
        self._drop_first(count)

    def _drop_first(self, count: int) -> None:
        self.size_bytes -= sum(map(len, self._batches[:count]))
        for column in (self._offsets, self._batches, self._max_timestamps):
            del column[:count]
        first = self._offsets[0] if self._offsets else self.log_end_offset
        self._raise_start(max(self.log_start_offset, first))

    def _raise_start(self, offset: int) -> None:
        self.log_start_offset = offset
        self._aborted = [entry for entry in self._aborted if entry.last_offset >= offset]
        self.epochs.truncate_from_start(offset)

    def advance_high_watermark(self, offset: int) -> None:
        self.high_watermark = offset
        self.last_stable_offset = self.producer_states.first_unstable_offset(offset)
        self.notify()

    def notify(self) -> None:
        if self.listener is not None:
            self.listener(self)

    # --- read -------------------------------------------------------------------------------------

    def read(
        self, offset: int, max_bytes: int, end_offset: int, *, at_least_one: bool
    ) -> BytesSlice:
        if offset < self.log_start_offset or offset > self.log_end_offset:
            raise OffsetOutOfRange(
                f"offset {offset} of {self.partition} is outside of"
                f" {self.log_start_offset}..{self.log_end_offset}"
            )
        first = self._number_at(offset)
        end = bisect_left(self._offsets, end_offset)
        size, last = 0, first
        while last < end and size + len(self._batches[last]) <= max_bytes:
            size += len(self._batches[last])
            last += 1
        if last == first and first < end and at_least_one:
            last += 1
        found = self._batches[first:last]
        first_offset = self._offsets[first] if found else offset
        return BytesSlice(found[0] if len(found) == 1 else b"".join(found), first_offset)

    def _number_at(self, offset: int) -> int:
        if offset >= self.log_end_offset:
            return len(self._offsets)
        return max(bisect_right(self._offsets, offset) - 1, 0)

    def records_from(self, offset: int | None = None) -> Iterator[bytes]:
        start = self.log_start_offset if offset is None else offset
        yield from self._batches[self._number_at(start) :]

    def aborted_transactions(self, offset: int, end_offset: int) -> list[tuple[int, int]]:
        found = [
            (entry.first_offset, entry.producer_id)
            for entry in self._aborted
            if entry.last_offset >= offset and entry.first_offset < end_offset
        ]
        return [(producer_id, first_offset) for first_offset, producer_id in sorted(found)]

    def aborted_in(self, records: LogSlice, offset: int, end_offset: int) -> list[tuple[int, int]]:
        number, size = self._number_at(records.first_offset), 0
        while number < len(self._batches) and size < len(records):
            size += len(self._batches[number])
            number += 1
        bound = self._offsets[number] if number < len(self._offsets) else self.log_end_offset
        return self.aborted_transactions(offset, min(end_offset, bound))

    def offset_for_timestamp(self, timestamp_ms: int) -> tuple[int, int] | None:
        for number, max_timestamp_ms in enumerate(self._max_timestamps):
            if max_timestamp_ms >= timestamp_ms:
                for record in decode_records(self._batches[number]):
                    if (
                        record.timestamp_ms >= timestamp_ms
                        and self.log_start_offset <= record.offset < self.high_watermark
                    ):
                        return record.timestamp_ms, record.offset
        return None

    def offset_of_max_timestamp(self) -> tuple[int, int] | None:
        greatest_ms = max(self._max_timestamps, default=NO_TIMESTAMP)
        return self.offset_for_timestamp(greatest_ms) if greatest_ms >= 0 else None

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        return self.epochs.end_offset_for(epoch, self.log_end_offset)

    def producers(self) -> list[ProducerView]:
        return self.producer_states.views()

    def expire_producers(self, now_ms: int, expiration_ms: int) -> int:
        return self.producer_states.expire(now_ms, expiration_ms)

    # --- shortening -------------------------------------------------------------------------------

    def delete_records_before(self, offset: int) -> int:
        if offset > self.high_watermark:
            raise OffsetOutOfRange(
                f"cannot delete up to {offset}: the high watermark is {self.high_watermark}"
            )
        if offset > self.log_start_offset:
            self._raise_start(offset)
            self._drop_first(self._number_at(offset))
            self.notify()
        return self.log_start_offset

    def drop_older_than(self, timestamp_ms: int) -> int:
        """Retention by time: drop the oldest batches that are wholly older; how many went."""
        count = 0
        while count < len(self._max_timestamps) and self._max_timestamps[count] < timestamp_ms:
            count += 1
        if count:
            self._drop_first(count)
            self.notify()
        return count

    def truncate_to(self, offset: int) -> None:
        if offset >= self.log_end_offset:
            return
        kept = self._number_at(offset)
        self.size_bytes -= sum(map(len, self._batches[kept:]))
        self.log_end_offset = max(self._offsets[kept], 0)
        for column in (self._offsets, self._batches, self._max_timestamps):
            del column[kept:]
        self.log_start_offset = min(self.log_start_offset, self.log_end_offset)
        self._aborted = [e for e in self._aborted if e.last_offset < self.log_end_offset]
        self.epochs.truncate_from_end(self.log_end_offset)
        self._replay_producers()
        self.high_watermark = min(self.high_watermark, self.log_end_offset)
        self.advance_high_watermark(self.high_watermark)

    def _replay_producers(self) -> None:
        aborted, self._aborted = self._aborted, []
        self.producer_states.clear()
        for batch in self._batches:
            header = check_coordinator_batch(batch, self._rules)
            if header[9] >= 0:
                self._record_producer(header, header[0], batch)
        self._aborted = aborted

    def flush(self) -> None:
        """Memory is all there is."""

    def close(self) -> None:
        """Nothing outlives the process."""
