"""What one producer sent to one partition, and what it was told about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headrace.testing.history_faults import Fault
from headrace.testing.history_runs import Placed, Runs
from headrace.testing.history_stamps import Stamp

if TYPE_CHECKING:
    import threading

    from headrace.testing.history_faults import Violations


class Latest(NamedTuple):
    """The youngest acknowledged record of a key."""

    number: int
    is_tombstone: bool


class Lane:
    """Numbers 0, 1, 2, ... of one producer in one partition.

    Every number ends as acknowledged (with an offset or, by a client that was not told, without),
    as refused, or stays unknown: then the record may be in the log or not, but once at most.
    """

    def __init__(
        self,
        lane_id: int,
        where: str,
        violations: Violations,
        lock: threading.Lock,
        *,
        is_idempotent: bool,
        is_compacted: bool,
    ) -> None:
        self.id = lane_id
        self.where = where
        self.is_idempotent = is_idempotent
        self.sent = 0
        self.acknowledged_count = 0
        self.refused: set[int] = set()
        self.told = Runs()
        """Where acknowledged records stand, by what the producer was told."""
        self.shown = Runs()
        """Where records stand that a reader has seen before their producer was told."""
        self.unplaced: set[int] = set()
        """Acknowledged, but no offset was told."""
        self.floor = 0
        """Numbers below it were deleted with the beginning of the log."""
        self._forgotten_below = 0
        self.latest: dict[bytes, Latest] = {}
        self._keys_in_flight: dict[int, tuple[bytes, bool]] = {}
        self._is_compacted = is_compacted
        self._violations = violations
        self._lock = lock

    def send(self, key: bytes | None = None, *, is_tombstone: bool = False) -> Stamp:
        """To be called before the record can reach the broker."""
        with self._lock:
            number = self.sent
            self.sent += 1
            if self._is_compacted and key is not None:
                self._keys_in_flight[number] = key, is_tombstone
        return Stamp(self.id, number)

    def acknowledge(self, number: int, offset: int | None) -> None:
        with self._lock:
            self.acknowledged_count += 1
            self._settle_key(number)
            if offset is None:
                self.unplaced.add(number)
                return
            shown = self.shown.offset_of(number)
            placed = self.told.place(number, offset)
            if placed is Placed.OUT_OF_ORDER:
                self._violation(Fault.REORDERED, f"number {number} acknowledged at {offset}")
            elif placed is Placed.ELSEWHERE or (shown is not None and shown != offset):
                seen = self.told.offset_of(number) if shown is None else shown
                self._violation(
                    Fault.WRONG_OFFSET,
                    f"number {number} acknowledged at {offset}, but is at {seen}",
                )

    def refuse(self, number: int) -> None:
        """The broker said no, for good: the record must never appear."""
        with self._lock:
            self.refused.add(number)
            self._keys_in_flight.pop(number, None)

    @property
    def unknown_count(self) -> int:
        return self.sent - self.acknowledged_count - len(self.refused)

    def _settle_key(self, number: int) -> None:
        key, is_tombstone = self._keys_in_flight.pop(number, (None, False))
        if key is None:
            return
        latest = self.latest.get(key)
        if latest is None or latest.number < number:
            self.latest[key] = Latest(number, is_tombstone)

    # --- called by the partition, which holds the lock --------------------------------------------

    def judge_read(self, number: int, offset: int) -> bool:
        """False, and told, if there is anything wrong with this record standing here."""
        if number >= self.sent or number in self.refused:
            return self._violation(Fault.PHANTOM, f"number {number} at {offset}")
        told = self.told.offset_of(number)
        if told is not None:
            if told == offset or not self.is_idempotent:
                return True
            return self._violation(
                Fault.WRONG_OFFSET, f"number {number} is at {offset}, told was {told}"
            )
        if number < self.floor:
            return self._judge_deleted(number, offset)
        if self._is_compacted:
            return True  # most of it goes; only the scan's own order is judged
        placed = self.shown.place(number, offset)
        if placed is Placed.ELSEWHERE:
            return self._duplicate(number, offset, f"once at {self.shown.offset_of(number)}")
        if placed is Placed.OUT_OF_ORDER:
            return self._violation(Fault.REORDERED, f"number {number} at {offset}")
        return True

    def judge_order(self, number: int, offset: int, seen: Runs) -> bool:
        """The same, within one reading of the log; ``seen`` is what that has shown so far."""
        if number < self.floor:
            return self._judge_deleted(number, offset)
        placed = seen.place(number, offset)
        if placed is Placed.ELSEWHERE:
            return self._duplicate(number, offset, f"once at {seen.offset_of(number)}")
        if placed is Placed.OUT_OF_ORDER:
            return self._violation(Fault.REORDERED, f"number {number} at {offset}")
        return True

    def _judge_deleted(self, number: int, offset: int) -> bool:
        """Where it stood is forgotten. A reader may have fetched it before it was deleted; but it
        must not stand where nothing was deleted."""
        if offset < self._forgotten_below:
            return True
        return self._duplicate(number, offset, "once in the deleted part")

    def forget_below(self, log_start_offset: int) -> None:
        self._forgotten_below = max(self._forgotten_below, log_start_offset)
        dropped = self.told.drop_below(log_start_offset), self.shown.drop_below(log_start_offset)
        self.floor = max(self.floor, *dropped)
        if self.unplaced:
            self.unplaced = {number for number in self.unplaced if number >= self.floor}

    def _duplicate(self, number: int, offset: int, first: str) -> bool:
        if not self.is_idempotent:
            return True
        return self._violation(Fault.DUPLICATED, f"number {number} at {offset}, {first}")

    def _violation(self, fault: Fault, detail: str) -> bool:
        self._violations.add(fault, self.where, detail)
        return False
