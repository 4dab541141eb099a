"""Which part of a log compaction may touch now, and whether that is worth it.

Clean part | dirty part | not to be touched: the active segment, what is younger than
``min.compaction.lag.ms``, and what lies above the last stable offset.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headrace.storage.segment import RELATIVE_OFFSET_MAX

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.config.topic import TopicConfig
    from headrace.storage.log import SegmentedLog
    from headrace.storage.segment import Segment

LAG_UNLIMITED_MS = (1 << 63) - 1


class CompactionPlan(NamedTuple):
    """``segments`` can be cleaned up to ``end_offset``; from ``first_dirty_offset`` on is new."""

    first_dirty_offset: int
    end_offset: int
    segments: tuple[Segment, ...]
    dirty_ratio: float
    is_overdue: bool

    @property
    def urgency(self) -> tuple[bool, float]:
        return self.is_overdue, self.dirty_ratio


def plan_compaction(
    log: SegmentedLog, checkpoint_offset: int | None, now_ms: int
) -> CompactionPlan | None:
    """None if there is nothing to clean, or not enough to be worth it."""
    first_dirty = _first_dirty_offset(log, checkpoint_offset)
    end_offset = _first_untouchable_offset(log, first_dirty, now_ms)
    if end_offset <= first_dirty:
        return None
    segments = tuple(segment for segment in log.segments if segment.base_offset < end_offset)
    clean_bytes = sum(s.known_size() for s in segments if s.base_offset < first_dirty)
    dirty_bytes = sum(s.known_size() for s in segments[log.segment_number(first_dirty) :])
    if not dirty_bytes:
        return None
    # A segment that is clean in part counts on both sides, as in Kafka.
    ratio = dirty_bytes / (clean_bytes + dirty_bytes)
    is_overdue = _is_overdue(log, segments, first_dirty, now_ms)
    if ratio <= log.config.min_cleanable_dirty_ratio and not is_overdue:
        return None
    return CompactionPlan(first_dirty, end_offset, segments, ratio, is_overdue)


def roll_if_overdue(log: SegmentedLog, now_ms: int) -> None:
    """``max.compaction.lag.ms`` also holds for the active segment, which is never cleaned."""
    lag_ms = log.config.max_compaction_lag_ms
    if lag_ms >= LAG_UNLIMITED_MS or log.active.base_offset == log.log_end_offset:
        return
    first_ms = log.load_active().load_first_timestamp()
    if first_ms >= 0 and now_ms - first_ms > lag_ms:
        log.roll(now_ms)


def _first_dirty_offset(log: SegmentedLog, checkpoint_offset: int | None) -> int:
    """Where the last round ended; the log start if that makes no sense any more."""
    if checkpoint_offset is None:
        return log.log_start_offset
    if not log.log_start_offset <= checkpoint_offset <= log.active.base_offset:
        return log.log_start_offset
    return checkpoint_offset


def _first_untouchable_offset(log: SegmentedLog, first_dirty: int, now_ms: int) -> int:
    end_offset = min(log.active.base_offset, log.last_stable_offset)
    lag_ms = log.config.min_compaction_lag_ms
    if lag_ms > 0:
        for segment in log.segments[log.segment_number(first_dirty) : -1]:
            segment.load()
            if segment.max_timestamp_ms > now_ms - lag_ms:
                return min(end_offset, segment.base_offset)
    return end_offset


def _is_overdue(
    log: SegmentedLog, segments: Sequence[Segment], first_dirty: int, now_ms: int
) -> bool:
    lag_ms = log.config.max_compaction_lag_ms
    if lag_ms >= LAG_UNLIMITED_MS:
        return False
    for segment in segments:
        if segment.base_offset >= first_dirty and segment.known_size():
            segment.load()
            first_ms = segment.load_first_timestamp()
            return first_ms >= 0 and now_ms - first_ms > lag_ms
    return False


def group_segments(
    segments: Sequence[Segment], end_offset: int, config: TopicConfig
) -> list[list[Segment]]:
    """Neighbours that fit together into one segment by size, by index size and by offsets."""
    groups: list[list[Segment]] = []
    size_bytes = index_bytes = 0
    for number, segment in enumerate(segments):
        is_last = number + 1 == len(segments)
        next_offset = end_offset if is_last else segments[number + 1].base_offset
        segment_index_bytes = max(segment.offset_index.count * 8, segment.time_index.count * 12)
        size_bytes += segment.known_size()
        index_bytes += segment_index_bytes
        fits = (
            bool(groups)
            and size_bytes <= (config.internal_segment_bytes or config.segment_bytes)
            and index_bytes <= config.segment_index_bytes
            and next_offset - groups[-1][0].base_offset <= RELATIVE_OFFSET_MAX
        )
        if fits:
            groups[-1].append(segment)
        else:
            groups.append([segment])
            size_bytes, index_bytes = segment.known_size(), segment_index_bytes
    return groups
