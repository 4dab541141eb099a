"""Deleting old segments: by age, by size, and what lies before the log start.

Only whole segments go, oldest first, and only what all readers have been shown: below the high
watermark, and nothing of a transaction that is still open. If even the active segment is too old,
the log is rolled first, so that one is left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headrace.model.errors import HeadraceError
from headrace.storage.log_port import NO_TIMESTAMP
from headrace.storage.log_trimming import remove_first_segments

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from headrace.storage.log import SegmentedLog
    from headrace.storage.segment import Segment

LOGS_PER_SLICE = 200
"""The first look at a log reads its time index: so many logs cost a few milliseconds."""


class RetentionFailure(NamedTuple):
    """A log that could not be shortened; it is tried again in the next round."""

    log: SegmentedLog
    error: HeadraceError


class RetentionRounds:
    """Goes through all logs again and again, a bounded number of them at a time."""

    def __init__(self, check_interval_ms: int) -> None:
        self.check_interval_ms = check_interval_ms
        self.freed_bytes = 0
        self._waiting: list[SegmentedLog] = []
        self._next_round_ms: int | None = None

    def run_slice(self, logs: Iterable[SegmentedLog], now_ms: int) -> list[RetentionFailure]:
        """Begin a round if one is due, and do the next few logs of it."""
        if not self._waiting:
            # A wall clock that was set back must not put the next round off for years.
            due = self._next_round_ms is None or now_ms >= self._next_round_ms
            if not due and self._next_round_ms - now_ms <= self.check_interval_ms:  # type: ignore[operator]
                return []
            self._next_round_ms = now_ms + self.check_interval_ms
            self._waiting = list(logs)
        failures: list[RetentionFailure] = []
        for _ in range(min(LOGS_PER_SLICE, len(self._waiting))):
            log = self._waiting.pop()
            if log.is_deleted:
                continue
            try:
                self.freed_bytes += delete_old_segments(log, now_ms)
            except HeadraceError as error:
                failures.append(RetentionFailure(log, error))
        return failures


def delete_old_segments(log: SegmentedLog, now_ms: int) -> int:
    """Apply all rules of the topic to one log; the bytes given back."""
    freed_bytes = _delete_before_log_start(log)
    if "delete" in log.config.cleanup_policy:
        freed_bytes += _delete_by_size(log, now_ms)
        freed_bytes += _delete_by_age(log, now_ms)
    return freed_bytes


def _delete_before_log_start(log: SegmentedLog) -> int:
    count = 0
    for following in log.segments[1:]:
        if following.base_offset > log.log_start_offset:
            break
        count += 1
    return remove_first_segments(log, count)


def _delete_by_size(log: SegmentedLog, now_ms: int) -> int:
    """Remove while what is left is still at least ``retention.bytes``, never going below it."""
    if log.config.retention_bytes < 0:
        return 0
    surplus_bytes = log.size_bytes - log.config.retention_bytes

    def is_surplus(segment: Segment) -> bool:
        nonlocal surplus_bytes
        surplus_bytes -= segment.known_size()
        return surplus_bytes >= 0

    return _delete_while(log, is_surplus, now_ms) if surplus_bytes > 0 else 0


def _delete_by_age(log: SegmentedLog, now_ms: int) -> int:
    """Remove while even the youngest record of a segment is older than ``retention.ms``."""
    retention_ms = log.config.retention_ms
    if retention_ms < 0:
        return 0

    def is_old(segment: Segment) -> bool:
        return now_ms - _youngest_ms(segment) > retention_ms

    return _delete_while(log, is_old, now_ms)


def _youngest_ms(segment: Segment) -> int:
    """The greatest timestamp; without any, the time when the file was last written."""
    segment.load()
    if segment.max_timestamp_ms != NO_TIMESTAMP:
        return segment.max_timestamp_ms
    return segment.files.disk.modified_ms(segment.path)


def _delete_while(log: SegmentedLog, is_deletable: Callable[[Segment], bool], now_ms: int) -> int:
    count = 0
    for number, segment in enumerate(log.segments):
        end_offset = _end_of(log, number)
        is_empty_tail = segment is log.active and end_offset == segment.base_offset
        if is_empty_tail or end_offset > log.last_stable_offset:
            break
        if segment is log.active:
            log.load_active()
        if not is_deletable(segment):
            break
        count += 1
    if count == len(log.segments):
        log.roll(now_ms)
    return remove_first_segments(log, count)


def _end_of(log: SegmentedLog, number: int) -> int:
    following = number + 1
    if following < len(log.segments):
        return log.segments[following].base_offset
    return log.log_end_offset
