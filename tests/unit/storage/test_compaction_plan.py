"""Which segments a round takes, and how they are put together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.storage.compaction_plan import (
    CompactionPlan,
    group_segments,
    plan_compaction,
    roll_if_overdue,
)
from headrace.storage.segment import RELATIVE_OFFSET_MAX
from headrace.testing.storage_bench import StorageBench

if TYPE_CHECKING:
    from headrace.storage.log import SegmentedLog


@pytest.fixture
def bench() -> StorageBench:
    return StorageBench()


def log_of(bench: StorageBench, count: int = 6, **overrides: object) -> SegmentedLog:
    """One record of 70 bytes in each segment."""
    settings = {"cleanup_policy": "compact", "internal_segment_bytes": 80, **overrides}
    log = bench.log(**settings)
    for _ in range(count):
        bench.append(log, (b"k", b"v"))
        bench.clock.advance_ms(1000)
    return log


def planned(log: SegmentedLog, checkpoint: int | None, now_ms: int) -> CompactionPlan:
    plan = plan_compaction(log, checkpoint, now_ms)
    assert plan is not None
    return plan


def test_everything_but_the_active_segment_is_taken(bench: StorageBench) -> None:
    log = log_of(bench)
    plan = planned(log, None, bench.clock.now_ms())
    assert (plan.first_dirty_offset, plan.end_offset, plan.dirty_ratio) == (0, 5, 1.0)
    assert plan.segments == tuple(log.segments[:-1])


def test_the_ratio_counts_from_the_checkpoint(bench: StorageBench) -> None:
    log = log_of(bench, min_cleanable_dirty_ratio=0.5)
    assert planned(log, 2, bench.clock.now_ms()).dirty_ratio == pytest.approx(0.6)
    assert plan_compaction(log, 3, bench.clock.now_ms()) is None
    assert plan_compaction(log, 5, bench.clock.now_ms()) is None


@pytest.mark.parametrize("checkpoint", [-1, 1, 6, 1000])
def test_a_checkpoint_outside_of_the_log_counts_for_nothing(
    bench: StorageBench, checkpoint: int
) -> None:
    log = log_of(bench)
    log.delete_records_before(2)
    assert planned(log, checkpoint, bench.clock.now_ms()).first_dirty_offset == 2


def test_the_last_stable_offset_is_a_limit(bench: StorageBench) -> None:
    log = log_of(bench)
    log.last_stable_offset = 2
    assert planned(log, None, bench.clock.now_ms()).end_offset == 2
    log.last_stable_offset = 0
    assert plan_compaction(log, None, bench.clock.now_ms()) is None


def test_the_minimum_lag_is_a_limit(bench: StorageBench) -> None:
    log = log_of(bench, min_compaction_lag_ms=3500)
    assert planned(log, None, bench.clock.now_ms()).end_offset == 3


def test_the_maximum_lag_makes_it_urgent(bench: StorageBench) -> None:
    log = log_of(bench, min_cleanable_dirty_ratio=1, max_compaction_lag_ms=10_000)
    now_ms = bench.clock.now_ms()
    assert plan_compaction(log, 4, now_ms) is None
    plan = planned(log, 4, now_ms + 10_000)
    assert plan.is_overdue
    assert plan.urgency > planned(log_of(bench, topic="b"), None, now_ms).urgency


def test_an_overdue_active_segment_is_rolled(bench: StorageBench) -> None:
    log = log_of(bench, count=1, max_compaction_lag_ms=10_000)
    roll_if_overdue(log, bench.clock.now_ms())
    assert len(log.segments) == 1
    roll_if_overdue(log, bench.clock.now_ms() + 10_000)
    assert len(log.segments) == 2
    roll_if_overdue(log, bench.clock.now_ms() + 90_000)
    assert len(log.segments) == 2, "an empty one is not rolled"


def test_neighbours_are_grouped_up_to_the_segment_size(bench: StorageBench) -> None:
    log = log_of(bench)
    config = bench.log("other", internal_segment_bytes=150).config
    groups = group_segments(log.segments[:5], 5, config)
    assert [[segment.base_offset for segment in group] for group in groups] == [[0, 1], [2, 3], [4]]


def test_groups_never_span_more_offsets_than_an_index_can_hold(bench: StorageBench) -> None:
    log = log_of(bench, count=3)
    log.segments[1].base_offset = RELATIVE_OFFSET_MAX
    config = bench.log("other", internal_segment_bytes=1000).config
    groups = group_segments(log.segments[:2], RELATIVE_OFFSET_MAX + 1, config)
    assert len(groups) == 2
