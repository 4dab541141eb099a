"""All that is known of one partition: its producers' lanes, its readers, its ends."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, NamedTuple

from headrace.testing.history_faults import Fault
from headrace.testing.history_lane import Lane
from headrace.testing.history_scan import Scan

if TYPE_CHECKING:
    from headrace.testing.history_faults import Violations
    from headrace.testing.history_groups import GroupHistory
    from headrace.testing.history_stamps import Stamp

GAPS_PENDING_MAX = 10_000


class Floor(NamedTuple):
    """What was known before the broker was asked: its answer must not lie below. Answers to several
    who ask at the same time may come to be judged in another order than they were given."""

    log_start_offset: int = 0
    end_offset: int = 0


NOTHING_KNOWN = Floor()


class PartitionHistory:
    """One partition. May be told from several threads."""

    def __init__(
        self, topic: str, partition: int, violations: Violations, *, is_compacted: bool
    ) -> None:
        self.topic = topic
        self.partition = partition
        self.is_compacted = is_compacted
        self.lock = threading.Lock()
        self.lanes: dict[int, Lane] = {}
        self.log_start_offset = 0
        self.high_watermark = 0
        self.read_records = 0
        self.scanned_records = 0
        self.scanned_keys = 0
        self.observations = 0
        self._violations = violations
        self._deletable_before = 0
        self._read_end = 0
        self._gaps_new: list[tuple[int, int]] = []
        self._gaps_ripe: list[tuple[int, int]] = []

    @property
    def where(self) -> str:
        return f"{self.topic}-{self.partition}"

    # --- what clients tell ------------------------------------------------------------------------

    def add_lane(self, lane_id: int, producer: str, *, is_idempotent: bool) -> Lane:
        lane = Lane(
            lane_id,
            f"{self.where} {producer}",
            self._violations,
            self.lock,
            is_idempotent=is_idempotent,
            is_compacted=self.is_compacted,
        )
        with self.lock:
            self.lanes[lane_id] = lane
        return lane

    def reader(self, group: GroupHistory | None = None) -> Reader:
        """For one consumer, from its assignment to its revocation."""
        return Reader(self, group)

    def scan(self) -> Scan:
        """For one reading of the whole log, from the log start that was observed last."""
        with self.lock:
            return Scan(self)

    def allow_deletion_before(self, offset: int) -> None:
        """From now on the log may start as late as here, by retention or on demand."""
        self._deletable_before = max(self._deletable_before, offset)

    # --- what the broker tells --------------------------------------------------------------------

    def expect(self) -> Floor:
        """How far the log must reach: after the last record that was acknowledged or read, and as
        far as it was told to reach. To be called before the broker is asked for what ``observe``
        is told."""
        with self.lock:
            # A gap that is seen while the broker answers may be younger than the answer.
            self._gaps_ripe += self._gaps_new
            self._gaps_new.clear()
            ends = [lane.told.end_offset for lane in self.lanes.values()]
            return Floor(self.log_start_offset, max(self._read_end, self.high_watermark, *ends))

    def observe(
        self, log_start_offset: int, high_watermark: int, floor: Floor = NOTHING_KNOWN
    ) -> None:
        """What the broker answered to a question that was put after ``expect`` gave the floor."""
        self.observe_log_start(log_start_offset, floor.log_start_offset)
        with self.lock:
            self.observations += 1
            if high_watermark < floor.end_offset:
                detail = f"{high_watermark}, it was {floor.end_offset}"
                self.violation(Fault.WATERMARK_WENT_BACK, detail)
            self.high_watermark = max(self.high_watermark, high_watermark)

    def observe_log_start(self, log_start_offset: int, floor: int = 0) -> None:
        with self.lock:
            known = self.log_start_offset
            if log_start_offset < floor:
                self.violation(Fault.LOG_START_WENT_BACK, f"{log_start_offset}, it was {floor}")
            if log_start_offset > self._deletable_before:
                detail = f"log starts at {log_start_offset}, allowed was {self._deletable_before}"
                self.violation(Fault.DELETED_EARLY, detail)
            self.log_start_offset = max(known, log_start_offset)
            self._judge_gaps()
            if log_start_offset > known:
                for lane in self.lanes.values():
                    lane.forget_below(log_start_offset)

    # --- called by readers and scans, which hold the lock -----------------------------------------

    def lane_of(self, offset: int, stamp: Stamp | None) -> Lane | None:
        """None, and told, for a record that cannot be of this partition."""
        self._read_end = max(self._read_end, offset + 1)
        if stamp is None:
            self.violation(Fault.WRONG_CONTENT, f"record at {offset}")
            return None
        lane = self.lanes.get(stamp.lane)
        if lane is None:
            self.violation(Fault.PHANTOM, f"lane {stamp.lane} number {stamp.number} at {offset}")
        return lane

    def note_gap(self, start: int, end: int) -> None:
        """A reader was not given these offsets: right only if the log starts after them."""
        if len(self._gaps_new) < GAPS_PENDING_MAX:
            self._gaps_new.append((start, end))

    def _judge_gaps(self) -> None:
        for start, end in self._gaps_ripe:
            if end > self.log_start_offset:
                self.violation(Fault.GAP, f"a reader was not given {start} .. {end - 1}")
        self._gaps_ripe.clear()

    def violation(self, fault: Fault, detail: str) -> None:
        self._violations.add(fault, self.where, detail)


class Reader:
    """A consumer's way through one partition. Reading something twice is its own affair."""

    def __init__(self, partition: PartitionHistory, group: GroupHistory | None) -> None:
        self._partition = partition
        self._group = group
        self._committed = None if group is None else group.acknowledged_offset(partition)
        self.position: int | None = None

    def read(self, offset: int, stamp: Stamp | None) -> None:
        partition = self._partition
        with partition.lock:
            partition.read_records += 1
            expected = self.position if self.position is not None else self._resume_at(offset)
            if offset > expected and not partition.is_compacted:
                partition.note_gap(expected, offset)
            self.position = offset + 1
            lane = partition.lane_of(offset, stamp)
            if lane is not None and stamp is not None:
                lane.judge_read(stamp.number, offset)

    def watermark(self, high_watermark: int) -> None:
        """The high watermark that came with what was read, or later."""
        if self.position is not None and self.position > high_watermark:
            detail = f"{self.position - 1}, high watermark {high_watermark}"
            self._partition.violation(Fault.READ_BEYOND_WATERMARK, detail)

    def _resume_at(self, offset: int) -> int:
        """Where a member of a group must begin: not before what was acknowledged as committed when
        it got the partition, and not after what anyone tried to commit."""
        if self._group is None:
            return offset
        if self._committed is not None and offset < self._committed:
            detail = f"{self._group.name} resumes at {offset}, acknowledged was {self._committed}"
            self._partition.violation(Fault.COMMIT_WENT_BACK, detail)
        return self._group.attempted_offset(self._partition)
