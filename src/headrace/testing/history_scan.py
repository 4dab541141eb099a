"""One reading of a whole partition, from its log start to its high watermark, judged at its end.

A scan of a compacted partition needs its producers at rest: compaction may take a record away
because of a younger one that lies beyond the end of the scan.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.testing.history_faults import Fault
from headrace.testing.history_runs import Runs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.testing.history_lane import Lane
    from headrace.testing.history_partition import PartitionHistory
    from headrace.testing.history_stamps import Stamp

HOLES_MAX = 10_000
"""Holes that are remembered in one scan of a partition that is not compacted."""


class Scan:
    """Give it every record in the order it was read, then ``finish``."""

    def __init__(self, partition: PartitionHistory) -> None:
        self._partition = partition
        self._next_offset = self._log_start_floor = partition.log_start_offset
        self._seen = {lane_id: Runs() for lane_id in partition.lanes}
        self._misplaced: dict[int, set[int]] = {lane_id: set() for lane_id in partition.lanes}
        # Only what was acknowledged before the scan began must be below its end.
        self._unplaced = {lane.id: set(lane.unplaced) for lane in partition.lanes.values()}
        self._latest = {lane.id: dict(lane.latest) for lane in partition.lanes.values()}
        self._keys: dict[bytes, tuple[int, bool]] = {}
        self._holes: list[tuple[int, int]] = []
        self._unreadable: set[int] = set()
        """Offsets with wrong content: what should be there is not called lost as well."""
        self.records = 0

    def read(
        self,
        offset: int,
        stamp: Stamp | None,
        key: bytes | None = None,
        *,
        is_tombstone: bool = False,
    ) -> None:
        """``stamp`` is None for a record whose content is not what anybody sent."""
        partition = self._partition
        with partition.lock:
            self.records += 1
            is_new = self._follow(offset)
            lane = partition.lane_of(offset, stamp)
            if lane is None or stamp is None:
                self._unreadable.add(offset)
                return
            seen = self._seen.setdefault(lane.id, Runs())
            if key is not None:
                self._keys[key] = stamp.number, is_tombstone
            in_place = is_new and lane.judge_order(stamp.number, offset, seen)
            if not in_place or not lane.judge_read(stamp.number, offset):
                self._misplaced.setdefault(lane.id, set()).add(stamp.number)

    def finish(self, log_start_offset: int, end_offset: int) -> None:
        """``end_offset`` is the high watermark up to which was read; ``log_start_offset`` was
        asked for after the reading, for retention may have gone on meanwhile."""
        partition = self._partition
        partition.observe_log_start(log_start_offset, self._log_start_floor)
        with partition.lock:
            if self._next_offset > end_offset:
                detail = f"{self._next_offset - 1}, high watermark {end_offset}"
                partition.violation(Fault.READ_BEYOND_WATERMARK, detail)
            self._note_hole_before(end_offset)
            if partition.is_compacted:
                self._judge_keys()
            else:
                self._judge_log(log_start_offset, end_offset)
            partition.scanned_records += self.records

    def _follow(self, offset: int) -> bool:
        """False, and told, if this reading was here before."""
        if offset < self._next_offset and self.records > 1:
            self._partition.violation(Fault.OFFSET_REPEATED, f"{offset} again")
            return False
        self._note_hole_before(offset)
        self._next_offset = offset + 1
        return True

    def _note_hole_before(self, offset: int) -> None:
        is_hole = offset > self._next_offset and not self._partition.is_compacted
        if is_hole and len(self._holes) < HOLES_MAX:
            self._holes.append((self._next_offset, offset))

    def _judge_log(self, log_start_offset: int, end_offset: int) -> None:
        """A hole where a known record stood is a loss, and named so; any other is a gap."""
        unplaced_lost = sum(
            self._judge_lane(lane, log_start_offset, end_offset)
            for lane in self._partition.lanes.values()
        )
        parts = [
            part
            for start, end in self._holes
            for part in self._unknown_parts(max(start, log_start_offset), end)
        ]
        if unplaced_lost < sum(last - first + 1 for first, last in parts):
            for first, last in parts:
                self._partition.violation(Fault.GAP, f"nothing at {first} .. {last}")

    def _unknown_parts(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        lanes = self._partition.lanes.values()
        first = None
        for offset in range(start, end):
            is_known = any(
                lane.told.holds_offset(offset) or lane.shown.holds_offset(offset) for lane in lanes
            )
            if not is_known and first is None:
                first = offset
            elif is_known and first is not None:
                yield first, offset - 1
                first = None
        if first is not None:
            yield first, end - 1

    def _judge_lane(self, lane: Lane, log_start_offset: int, end_offset: int) -> int:
        """The number of lost records whose offset nobody knew."""
        unplaced = self._unplaced.get(lane.id, set())
        for number, offset in self._absent(lane, lane.told, log_start_offset, end_offset):
            self._partition.violation(Fault.LOST, f"{lane.where} number {number} at {offset}")
        for number, offset in self._absent(lane, lane.shown, log_start_offset, end_offset):
            if lane.told.offset_of(number) is None:
                fault = Fault.LOST if number in unplaced else Fault.VANISHED
                self._partition.violation(fault, f"{lane.where} number {number} at {offset}")
        seen, misplaced = self._seen.get(lane.id, Runs()), self._misplaced.get(lane.id, set())
        lost = [
            number
            for number in unplaced - misplaced
            if seen.offset_of(number) is None
            and lane.shown.offset_of(number) is None
            and not self._unreadable
            and self._must_be_there(lane, number, seen, log_start_offset)
        ]
        for number in lost:
            self._partition.violation(Fault.LOST, f"{lane.where} number {number}")
        return len(lost)

    def _absent(
        self, lane: Lane, known: Runs, log_start_offset: int, end_offset: int
    ) -> Iterator[tuple[int, int]]:
        """Number and offset of known records between the two ends that this scan has not shown."""
        seen, misplaced = self._seen.get(lane.id, Runs()), self._misplaced.get(lane.id, set())
        for run in known:
            first = run.number + max(0, log_start_offset - run.offset)
            end = run.number + min(run.length, end_offset - run.offset)
            for number in seen.missing(first, end):
                offset = run.offset + number - run.number
                if number not in misplaced and offset not in self._unreadable:
                    yield number, offset

    def _must_be_there(self, lane: Lane, number: int, seen: Runs, log_start_offset: int) -> bool:
        """Nobody was told its offset: below the log start or not? Its elder sisters know."""
        if number < lane.floor:
            return False
        if log_start_offset == 0:
            return True
        return any(run.number < number for known in (seen, lane.told) for run in known)

    def _judge_keys(self) -> None:
        """Of each key at least the latest acknowledged record is there, or it was a deletion."""
        for lane_id, latest_of in self._latest.items():
            where = self._partition.lanes[lane_id].where
            for key, latest in latest_of.items():
                found, is_tombstone = self._keys.get(key, (-1, True))
                if found >= latest.number:
                    continue
                if not latest.is_tombstone:
                    detail = f"{where} number {latest.number} of key {key!r}"
                    self._partition.violation(Fault.LOST, detail)
                elif not is_tombstone:
                    detail = f"{where} number {found} of key {key!r}, deleted by {latest.number}"
                    self._partition.violation(Fault.RESURRECTED, detail)
            self._partition.scanned_keys += len(latest_of)
