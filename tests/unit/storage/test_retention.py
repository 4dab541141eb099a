"""Old segments go by age, size and log start; the log start never goes back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.model.errors import StorageFailure
from headrace.storage import retention
from headrace.storage.retention import RetentionRounds, delete_old_segments
from headrace.testing.log_bench import LogBench
from headrace.testing.storage_bench import DATA, StorageBench, pairs_of

if TYPE_CHECKING:
    from headrace.storage.log import SegmentedLog

DAY_MS = 86_400_000
SEGMENT_BYTES = 80
"""Room for one batch with one small record."""


@pytest.fixture
def bench() -> StorageBench:
    return StorageBench()


def fill(
    bench: StorageBench, count: int = 5, step_ms: int = 1000, **overrides: object
) -> SegmentedLog:
    """A log with one record in each segment, the last one active."""
    log = bench.log(internal_segment_bytes=SEGMENT_BYTES, **overrides)
    for number in range(count):
        bench.append(log, (b"k", b"%d" % number))
        bench.clock.advance_ms(step_ms)
    assert len(log.segments) == count
    return log


def files_of(bench: StorageBench, suffix: str) -> list[str]:
    return [name for name in bench.disk.list(f"{DATA}/topic-0") if name.endswith(suffix)]


def test_segments_go_when_their_youngest_record_is_too_old(bench: StorageBench) -> None:
    log = fill(bench, retention_ms=DAY_MS)
    now_ms = bench.clock.now_ms()
    assert delete_old_segments(log, now_ms + DAY_MS - 5000) == 0
    assert delete_old_segments(log, now_ms + DAY_MS - 3000) > 0
    assert log.log_start_offset == 2
    assert [offset for offset, _, _ in pairs_of(log)] == [2, 3, 4]


def test_the_active_segment_goes_after_a_roll_when_all_is_old(bench: StorageBench) -> None:
    log = fill(bench, retention_ms=DAY_MS)
    bench.clock.advance_ms(2 * DAY_MS)
    delete_old_segments(log, bench.clock.now_ms())
    assert (log.log_start_offset, log.log_end_offset) == (5, 5)
    assert len(log.segments) == 1
    assert bench.append(log, (b"k", b"new")).base_offset == 5
    assert pairs_of(log) == [(5, b"k", b"new")]


def test_a_young_record_in_the_active_segment_stays_when_all_before_it_goes(
    bench: StorageBench,
) -> None:
    log = fill(bench, retention_ms=DAY_MS)
    active = log.active
    bench.clock.advance_ms(2 * DAY_MS)
    bench.append(log, (b"k", b"young"))
    delete_old_segments(log, bench.clock.now_ms())
    assert log.log_start_offset == log.active.base_offset >= active.base_offset
    assert (5, b"k", b"young") in pairs_of(log)


def test_an_empty_log_is_left_alone(bench: StorageBench) -> None:
    log = bench.log(retention_ms=1)
    bench.clock.advance_ms(DAY_MS)
    assert delete_old_segments(log, bench.clock.now_ms()) == 0
    assert len(log.segments) == 1


def test_a_young_record_in_front_keeps_what_is_behind(bench: StorageBench) -> None:
    log = bench.log(internal_segment_bytes=SEGMENT_BYTES, retention_ms=DAY_MS)
    for age_ms in (0, 5 * DAY_MS, 5 * DAY_MS):
        bench.append(log, (b"k", b"v"), timestamp_ms=bench.clock.now_ms() - age_ms)
    assert delete_old_segments(log, bench.clock.now_ms()) == 0


def test_records_without_timestamp_age_by_their_file(bench: StorageBench) -> None:
    bench.disk._clock = bench.clock
    log = bench.log(internal_segment_bytes=SEGMENT_BYTES, retention_ms=DAY_MS)
    for _ in range(2):
        bench.append(log, (b"k", b"v"), timestamp_ms=-1)
    assert delete_old_segments(log, bench.clock.now_ms() + DAY_MS) == 0
    assert delete_old_segments(log, bench.clock.now_ms() + DAY_MS + 1) > 0


@pytest.mark.parametrize(("kept_segments", "slack"), [(3, 0), (4, 1), (0, 0)])
def test_size_is_cut_down_but_never_below_the_limit(
    bench: StorageBench, kept_segments: int, slack: int
) -> None:
    size = fill(bench, count=1).size_bytes
    log = bench.log("other", internal_segment_bytes=SEGMENT_BYTES, retention_bytes=3 * size + slack)
    if not kept_segments:
        log = bench.log("none", internal_segment_bytes=SEGMENT_BYTES, retention_bytes=0)
    for number in range(5):
        bench.append(log, (b"k", b"%d" % number))
    freed = delete_old_segments(log, bench.clock.now_ms())
    assert freed == (5 - kept_segments) * size
    assert log.size_bytes == kept_segments * size


def test_unlimited_retention_deletes_nothing(bench: StorageBench) -> None:
    log = fill(bench, retention_ms=-1, retention_bytes=-1)
    assert delete_old_segments(log, bench.clock.now_ms() + 1000 * DAY_MS) == 0


def test_compacted_topics_lose_only_what_is_before_the_log_start(bench: StorageBench) -> None:
    log = fill(bench, cleanup_policy="compact", retention_ms=1, retention_bytes=0)
    bench.clock.advance_ms(DAY_MS)
    assert delete_old_segments(log, bench.clock.now_ms()) == 0
    log.log_start_offset = 2
    assert delete_old_segments(log, bench.clock.now_ms()) > 0
    assert log.segments[0].base_offset == 2


def test_nothing_above_the_high_watermark_goes(bench: StorageBench) -> None:
    log = fill(bench, retention_ms=1)
    bench.clock.advance_ms(DAY_MS)
    log.high_watermark = log.last_stable_offset = 2
    delete_old_segments(log, bench.clock.now_ms())
    assert log.log_start_offset == 2


def test_files_are_renamed_then_removed_and_space_comes_back(bench: StorageBench) -> None:
    log = fill(bench, retention_ms=DAY_MS, file_delete_delay_ms=60_000)
    bench.clock.advance_ms(DAY_MS - 3000)
    delete_old_segments(log, bench.clock.now_ms())
    gone = files_of(bench, ".log.deleted")
    assert gone == ["00000000000000000000.log.deleted", "00000000000000000001.log.deleted"]
    bench.background.advance(59)
    assert files_of(bench, ".log.deleted") == gone
    bench.background.advance(2)
    assert files_of(bench, ".deleted") == []
    assert len(files_of(bench, ".log")) == 3


def test_log_start_survives_a_kill(bench: StorageBench) -> None:
    log = fill(bench, retention_ms=DAY_MS)
    bench.clock.advance_ms(DAY_MS - 3000)
    delete_old_segments(log, bench.clock.now_ms())
    assert log.log_start_offset == 2
    bench.disk.kill()
    bench.start()
    assert bench.get().log_start_offset == 2
    assert [offset for offset, _, _ in pairs_of(bench.get())] == [2, 3, 4]


def test_rounds_take_turns_and_keep_their_interval(
    bench: StorageBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "LOGS_PER_SLICE", 2)
    logs = [
        bench.log(f"t{i}", internal_segment_bytes=SEGMENT_BYTES, retention_ms=1) for i in range(3)
    ]
    for log in logs:
        bench.append(log, (b"k", b"v"))
    bench.clock.advance_ms(DAY_MS)
    rounds = RetentionRounds(check_interval_ms=300_000)
    now_ms = bench.clock.now_ms()
    assert rounds.run_slice(logs, now_ms) == []
    assert sorted(log.log_start_offset for log in logs) == [0, 1, 1]
    rounds.run_slice(logs, now_ms)
    assert [log.log_start_offset for log in logs] == [1, 1, 1]
    assert rounds.freed_bytes > 0
    bench.append(logs[0], (b"k", b"v"))
    rounds.run_slice(logs, now_ms + 200_000)
    assert logs[0].log_start_offset == 1
    rounds.run_slice(logs, now_ms + 300_000)
    rounds.run_slice(logs, now_ms + 300_000)
    assert logs[0].log_start_offset == 2


def test_a_clock_set_back_does_not_stop_the_rounds(bench: StorageBench) -> None:
    log = fill(bench, retention_ms=DAY_MS)
    rounds = RetentionRounds(check_interval_ms=1000)
    rounds.run_slice([log], bench.clock.now_ms() + 900 * DAY_MS)
    bench.append(log, (b"k", b"v"), timestamp_ms=1)
    rounds.run_slice([log], bench.clock.now_ms())
    assert log.log_start_offset == 6


def test_a_failing_log_is_named_and_the_others_go_on(bench: StorageBench) -> None:
    logs = [
        bench.log(f"t{i}", internal_segment_bytes=SEGMENT_BYTES, retention_ms=1) for i in range(2)
    ]
    for log in logs:
        bench.append(log, (b"k", b"v"))
        bench.append(log, (b"k", b"v"))
    bench.clock.advance_ms(DAY_MS)
    bench.disk.fail_next("rename", StorageFailure("bad disk"))
    rounds = RetentionRounds(check_interval_ms=1)
    failures = rounds.run_slice(logs, bench.clock.now_ms())
    assert [str(failure.error) for failure in failures] == ["bad disk"]
    assert sum(log.log_start_offset == 2 for log in logs) >= 1


def test_files_whose_removal_was_not_due_are_gone_after_a_clean_restart():
    bench = LogBench()
    log = bench.create(retention_ms="1000", internal_segment_bytes="2000")
    for _ in range(10):
        bench.append(log, [b"x" * 900])
    bench.background.advance(10)
    assert delete_old_segments(log, bench.clock.now_ms()) > 0
    assert any(name.endswith(".deleted") for name in bench.disk.list("data/t-0"))
    assert bench.restart().is_clean
    assert not any(name.endswith(".deleted") for name in bench.disk.list("data/t-0"))
    assert bench.log().log_start_offset == bench.log().log_end_offset == 10


def test_nothing_of_an_open_transaction_goes() -> None:
    bench = LogBench()
    log = bench.create(internal_segment_bytes="80", retention_ms="1")
    bench.append(log, [b"before"])
    fields = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0, "transactional": True}
    bench.append(log, [b"open"], **fields)
    bench.append(log, [b"after"])
    bench.clock.advance_ms(DAY_MS)
    delete_old_segments(log, bench.clock.now_ms())
    assert (log.log_start_offset, log.last_stable_offset) == (1, 1)
    bench.append_marker(log, 7, abort=True)
    bench.clock.advance_ms(DAY_MS)
    delete_old_segments(log, bench.clock.now_ms())
    assert log.log_start_offset == log.log_end_offset == 4
