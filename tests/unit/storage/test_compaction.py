"""Whole rounds of compaction over logs on a simulated disk."""

from __future__ import annotations

import struct
from random import Random
from typing import TYPE_CHECKING

import pytest

from headrace.model.errors import DiskFull, StorageFailure
from headrace.model.topic import TopicPartition
from headrace.records.header import read_header
from headrace.storage import compaction_files
from headrace.storage.checkpoints import read_offsets
from headrace.storage.compaction import Compactor
from headrace.storage.inspect_verify import verify
from headrace.storage.retention import delete_old_segments
from headrace.testing.faulty_disk import FaultyDisk, crash_everywhere
from headrace.testing.storage_bench import DATA, StorageBench, latest_values, pairs_of

if TYPE_CHECKING:
    from headrace.storage.log import SegmentedLog

ABORT = (struct.pack(">hh", 0, 0), struct.pack(">hi", 0, 0))


@pytest.fixture
def bench() -> StorageBench:
    return StorageBench()


def compacted_log(bench: StorageBench, **overrides: object) -> SegmentedLog:
    settings = {"cleanup_policy": "compact", "min_cleanable_dirty_ratio": 0, **overrides}
    return bench.log(internal_segment_bytes=400, **settings)


def compactor_of(bench: StorageBench, **options: int) -> Compactor:
    return Compactor(DATA, bench.manager.environment, **options)


def fill(bench: StorageBench, log: SegmentedLog, count: int = 60, keys: int = 7) -> None:
    chance = Random(1)
    for number in range(count):
        key = b"key-%d" % chance.randrange(keys)
        value = None if chance.random() < 0.1 else b"value-%d" % number
        bench.append(log, (key, value), (key + b"x", b"%d" % number))
        bench.clock.advance_ms(1000)


def compact(
    bench: StorageBench, log: SegmentedLog, compactor: Compactor | None = None
) -> Compactor:
    compactor = compactor or compactor_of(bench)
    compactor.run([log], bench.clock.now_ms())
    bench.background.run_all()
    assert not compactor.is_running
    return compactor


def names_of(bench: StorageBench) -> list[str]:
    return bench.disk.list(f"{DATA}/topic-0")


def test_the_latest_values_stay_at_their_offsets(bench: StorageBench) -> None:
    log = compacted_log(bench)
    fill(bench, log)
    before, size = pairs_of(log), log.size_bytes
    compactor = compact(bench, log)
    after = pairs_of(log)
    assert compactor.rounds == 1
    assert set(after) < set(before)
    assert after == sorted(after)
    assert latest_values(after) == latest_values(before)
    closed = [pair for pair in after if pair[0] < log.active.base_offset]
    assert len({key for _, key, _ in closed}) == len(closed)
    assert log.size_bytes < size
    assert log.log_end_offset == 120


def test_reads_from_every_old_offset_find_the_next_record(bench: StorageBench) -> None:
    log = compacted_log(bench, index_interval_bytes=100)
    fill(bench, log)
    compact(bench, log)
    kept = [offset for offset, _, _ in pairs_of(log)]
    for offset in range(log.log_end_offset):
        data = log.read(offset, 1 << 20, log.log_end_offset, at_least_one=True).read()
        header = read_header(data)
        assert header.last_offset >= offset
        following = [found for found in kept if found >= offset]
        if following:
            assert header.base_offset <= following[0]


def test_no_temporary_file_is_left_and_old_files_go_after_the_delay(bench: StorageBench) -> None:
    log = compacted_log(bench)
    fill(bench, log)
    compact(bench, log)
    assert not [name for name in names_of(bench) if name.endswith((".cleaned", ".swap"))]
    assert [name for name in names_of(bench) if name.endswith(".deleted")]
    bench.background.advance(61)
    assert not [name for name in names_of(bench) if name.endswith(".deleted")]
    logs = [name for name in names_of(bench) if name.endswith(".log")]
    assert len(logs) == len(log.segments)


def test_the_files_are_sound_afterwards(bench: StorageBench) -> None:
    log = compacted_log(bench, index_interval_bytes=100)
    fields = {"producer_id": 9, "producer_epoch": 0, "transactional": True}
    bench.append(log, (b"a", b"aborted"), base_sequence=0, **fields)
    bench.append(log, ABORT, control=True, **fields)
    fill(bench, log)
    compact(bench, log)
    bench.background.advance(61)
    bench.manager.close()
    assert verify(bench.disk, DATA) == []


def test_segments_are_grouped_up_to_the_segment_size(bench: StorageBench) -> None:
    log = compacted_log(bench)
    fill(bench, log)
    segments_before = len(log.segments)
    compactor = compact(bench, log)
    fill(bench, log, count=20)
    compact(bench, log, compactor)
    assert len(log.segments) < segments_before
    assert all(segment.known_size() <= 400 for segment in log.segments)


def test_the_checkpoint_says_how_far_the_log_is_clean(bench: StorageBench) -> None:
    log = compacted_log(bench, min_cleanable_dirty_ratio=0.5)
    fill(bench, log)
    compactor = compact(bench, log)
    written = read_offsets(bench.disk, f"{DATA}/cleaner-offset-checkpoint")
    assert written == {TopicPartition("topic", 0): log.active.base_offset}
    compact(bench, log, compactor)
    assert compactor.rounds == 1, "nothing is dirty"
    another = compactor_of(bench)
    compact(bench, log, another)
    assert another.rounds == 0, "and the next process knows it"


def test_a_damaged_checkpoint_means_all_is_dirty(bench: StorageBench) -> None:
    log = compacted_log(bench)
    fill(bench, log)
    bench.disk.replace_file(f"{DATA}/cleaner-offset-checkpoint", b"nonsense")
    assert compact(bench, log).rounds == 1


def test_a_small_key_map_takes_several_rounds_to_the_same_end(bench: StorageBench) -> None:
    log = compacted_log(bench)
    fill(bench, log, keys=20)
    expected = latest_values(pairs_of(log))
    compactor = compactor_of(bench, keys_max=5)
    rounds = 0
    while compactor.rounds == rounds and rounds < 100:
        compact(bench, log, compactor)
        rounds += 1
    assert compactor.rounds > 2
    assert latest_values(pairs_of(log)) == expected
    closed = [key for offset, key, _ in pairs_of(log) if offset < log.active.base_offset]
    assert len(set(closed)) == len(closed)


def test_tombstones_stay_for_their_time_and_then_go(bench: StorageBench) -> None:
    log = compacted_log(bench, delete_retention_ms=10_000)
    bench.append(log, (b"gone", b"x"))
    bench.append(log, (b"gone", None))
    fill(bench, log, count=10)
    compactor = compact(bench, log)
    assert (1, b"gone", None) in pairs_of(log)
    assert (0, b"gone", b"x") not in pairs_of(log)
    bench.clock.advance_ms(20_000)
    fill(bench, log, count=10)
    compact(bench, log, compactor)
    assert b"gone" not in {key for _, key, _ in pairs_of(log)}


def test_young_records_are_protected_by_the_minimum_lag(bench: StorageBench) -> None:
    log = compacted_log(bench, min_compaction_lag_ms=30_000)
    fill(bench, log)
    before = pairs_of(log)
    limit_ms = bench.clock.now_ms() - 30_000
    compact(bench, log)
    young = [record for batch in log.records_from() for record in [read_header(batch)]]
    assert len(pairs_of(log)) < len(before)
    assert sum(header.max_timestamp > limit_ms for header in young) == 29


def test_the_maximum_lag_forces_a_round_and_a_roll(bench: StorageBench) -> None:
    log = compacted_log(bench, min_cleanable_dirty_ratio=1, max_compaction_lag_ms=100_000)
    fill(bench, log, count=5, keys=1)
    end_offset = log.log_end_offset
    compactor = compact(bench, log)
    assert compactor.rounds == 0
    bench.clock.advance_ms(200_000)
    compact(bench, log, compactor)
    assert compactor.rounds == 1
    assert log.active.base_offset == end_offset
    assert len(pairs_of(log)) == 2


def test_the_ratio_decides_whether_it_is_worth_it(bench: StorageBench) -> None:
    log = compacted_log(bench, min_cleanable_dirty_ratio=0.9)
    fill(bench, log, keys=40)
    compactor = compact(bench, log)
    assert compactor.rounds == 1
    fill(bench, log, count=4)
    compact(bench, log, compactor)
    assert compactor.rounds == 1


def test_the_dirtiest_log_comes_first(bench: StorageBench) -> None:
    first, second = (
        bench.log(name, cleanup_policy="compact", internal_segment_bytes=400) for name in "ab"
    )
    compactor = compactor_of(bench)
    fill(bench, first, keys=40)
    compact(bench, first, compactor)
    fill(bench, first, count=70)
    fill(bench, second)
    compactor.run([first, second], bench.clock.now_ms())
    bench.background.run_all()
    assert second.size_bytes < 3000 < first.size_bytes


def test_topics_that_only_delete_are_not_compacted(bench: StorageBench) -> None:
    log = bench.log(internal_segment_bytes=400, cleanup_policy="delete")
    fill(bench, log)
    assert compact(bench, log).rounds == 0


def test_the_last_sequence_of_a_producer_survives(bench: StorageBench) -> None:
    log = compacted_log(bench)
    fields = {"producer_id": 9, "producer_epoch": 0}
    bench.append(log, (b"a", b"1"), base_sequence=0, **fields)
    bench.append(log, (b"a", b"2"), base_sequence=1, **fields)
    for number in range(20):
        bench.append(log, (b"a", b"%d" % number))
    compact(bench, log)
    first = read_header(next(log.records_from()))
    assert (first.record_count, first.base_sequence, first.base_offset) == (0, 1, 1)
    bench.disk.kill()
    bench.start()
    (view,) = bench.get().producers()
    assert view.last_sequence == 1


def test_aborted_records_go_and_open_transactions_stop_the_round(bench: StorageBench) -> None:
    log = compacted_log(bench)
    fields = {"producer_id": 9, "producer_epoch": 0, "transactional": True}
    bench.append(log, (b"a", b"committed"))
    bench.append(log, (b"a", b"aborted"), base_sequence=0, **fields)
    fill(bench, log, count=10)
    compactor = compact(bench, log)
    assert (1, b"a", b"aborted") in pairs_of(log)
    bench.append(log, ABORT, control=True, **fields)
    fill(bench, log, count=10)
    compact(bench, log, compactor)
    pairs = pairs_of(log)
    assert (0, b"a", b"committed") in pairs
    assert b"aborted" not in {value for _, _, value in pairs}
    assert log.aborted_transactions(0, log.log_end_offset) == [(9, 1)]


def test_an_emptied_segment_stays_readable(bench: StorageBench) -> None:
    log = bench.log(
        cleanup_policy="compact", min_cleanable_dirty_ratio=0, internal_segment_bytes=80
    )
    for number in range(4):
        bench.append(log, (b"a", b"%d" % number))
    compact(bench, log)
    assert pairs_of(log) == [(2, b"a", b"2"), (3, b"a", b"3")]
    data = log.read(0, 1000, 4, at_least_one=True).read()
    assert read_header(data).base_offset == 2


def test_readers_keep_what_they_have_pinned(bench: StorageBench) -> None:
    log = compacted_log(bench)
    fill(bench, log)
    expected = log.read(0, 300, log.log_end_offset, at_least_one=True).read()
    held = log.read(0, 300, log.log_end_offset, at_least_one=True)
    held.pin()
    compact(bench, log)
    assert held.read() == expected
    held.release()


@pytest.mark.parametrize("act", ["retention", "truncate", "delete", "stop"])
def test_a_round_gives_up_when_the_log_changes_under_it(
    bench: StorageBench, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    monkeypatch.setattr(compaction_files, "SLICE_BYTES", 500)
    log = compacted_log(bench, cleanup_policy="compact,delete", retention_ms=86_400_000)
    fill(bench, log)
    compactor = compactor_of(bench)
    compactor.run([log], bench.clock.now_ms())
    for _ in range(3):
        bench.background.run_one()
    if act == "retention":
        delete_old_segments(log, bench.clock.now_ms() + 86_390_000)
    elif act == "truncate":
        log.truncate_to(30)
    elif act == "delete":
        bench.manager.delete_log(log.partition)
    else:
        compactor.stop()
    expected = [] if act == "delete" else pairs_of(log)
    bench.background.run_all()
    assert (compactor.rounds, compactor.is_running) == (0, False)
    assert compactor.last_failure is None
    if act != "delete":
        assert pairs_of(log) == expected
        assert not [name for name in names_of(bench) if name.endswith((".cleaned", ".swap"))]


def test_damage_makes_a_log_uncleanable_and_nothing_is_lost(bench: StorageBench) -> None:
    log = compacted_log(bench)
    fill(bench, log)
    bench.disk.rot(log.segments[1].path, 70)
    size = log.size_bytes
    compactor = compact(bench, log)
    assert list(compactor.uncleanable) == [log.partition]
    assert log.size_bytes == size
    assert not [name for name in names_of(bench) if name.endswith((".cleaned", ".swap"))]
    compact(bench, log, compactor)
    assert compactor.rounds == 0


def test_any_failing_operation_leaves_the_log_readable_and_is_tried_again() -> None:
    def run(operation: int, error: StorageFailure) -> bool:
        bench = StorageBench()
        log = compacted_log(bench)
        fill(bench, log, count=12, keys=3)
        expected = latest_values(pairs_of(log))
        compactor = compactor_of(bench)
        bench.disk.fail_at(operation, error)
        compact(bench, log, compactor)
        has_failed = compactor.last_failure is error
        assert latest_values(pairs_of(log)) == expected
        compact(bench, log, compactor)
        assert latest_values(pairs_of(log)) == expected
        assert compactor.last_failure is None
        assert not [name for name in names_of(bench) if name.endswith((".cleaned", ".swap"))]
        return has_failed

    failures = [run(number, DiskFull("full")) for number in range(40)]
    assert sum(failures) > 20


@pytest.mark.parametrize("power_loss", [True, False])
@pytest.mark.parametrize("entries_in_order", [True, False])
def test_a_crash_at_any_moment_leaves_a_consistent_log(
    power_loss: bool, entries_in_order: bool
) -> None:
    benches: dict[int, StorageBench] = {}
    expected: dict[bytes, bytes] = {}
    before: set[tuple[int, bytes | None, bytes | None]] = set()

    def make_disk(seed: int) -> FaultyDisk:
        """A log is written and flushed; the crash points are those of the compaction."""
        disk = FaultyDisk(seed, entries_in_order=entries_in_order)
        bench = StorageBench(disk)
        log = compacted_log(bench)
        fill(bench, log, count=10, keys=3)
        log.flush()
        bench.manager.close()
        disk.sync_directory(DATA)
        disk.sync_directory("/")
        bench.start()
        benches[id(disk)] = bench
        before.update(pairs_of(bench.get()))
        expected.update(latest_values(sorted(before)))
        return disk

    def work(disk: FaultyDisk) -> None:
        bench = benches[id(disk)]
        compact(bench, bench.get())
        bench.background.advance(61)

    def check(disk: FaultyDisk) -> None:
        bench = benches[id(disk)]
        bench.start()
        pairs = pairs_of(bench.get())
        assert set(pairs) <= before
        assert [offset for offset, _, _ in pairs] == sorted({offset for offset, _, _ in pairs})
        assert latest_values(pairs) == expected
        assert bench.get().log_end_offset == 20
        compact(bench, bench.get())
        assert latest_values(pairs_of(bench.get())) == expected

    points = crash_everywhere(work, check, make_disk=make_disk, power_loss=power_loss)
    assert points > 30
