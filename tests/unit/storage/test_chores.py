"""The recurring work, seen from outside: what is old goes, what is overwritten goes, in time."""

from __future__ import annotations

from headrace.config.broker import BrokerConfig
from headrace.metrics.registry import StorageCounters
from headrace.records.build import build_batch
from headrace.storage.chores import Chores
from headrace.storage.compaction_filter import KEY_BYTES
from headrace.testing.log_bench import LogBench, read_records

HOUR_SECONDS = 3600


def chores_of(bench: LogBench) -> Chores:
    return Chores(bench.manager, bench.clock, lambda: bench.config)


def run_for(bench: LogBench, chores: Chores, seconds: float, step: float = 300.0) -> None:
    passed = 0.0
    while passed < seconds:
        bench.background.advance(step)
        chores.run()
        bench.background.run_all()
        passed += step


def test_old_segments_go_and_their_space_is_given_back(bench):
    log = bench.create(retention_ms="3600000", segment_bytes="1048576")
    for _ in range(3):
        bench.append(log, [b"x" * 600_000])
    chores = chores_of(bench)
    run_for(bench, chores, 2 * HOUR_SECONDS)
    assert log.log_start_offset == 3
    assert read_records(log) == []
    assert log.size_bytes == 0
    assert [name for name in bench.disk.list("data/t-0") if name.endswith(".deleted")] == []
    assert bench.append(log, [b"new"]).base_offset == 3


def test_records_in_memory_grow_old_too(bench):
    log = bench.create(storage="memory", retention_ms="3600000")
    bench.append(log, [b"x"])
    run_for(bench, chores_of(bench), 2 * HOUR_SECONDS)
    assert log.log_start_offset == 1
    assert read_records(log) == []


def test_compacted_log_keeps_the_latest_of_each_key(bench):
    log = bench.create(
        cleanup_policy="compact", segment_ms="60000", min_cleanable_dirty_ratio="0.01"
    )
    for number in range(20):
        batch = build_batch(
            [(b"key-%d" % (number % 2), b"%d" % number)], timestamp_ms=bench.clock.now_ms()
        )
        bench.manager.append([(log, batch)])
        bench.background.advance(120)
    run_for(bench, chores_of(bench), HOUR_SECONDS)
    latest = {record.key: record.value for record in read_records(log)}
    assert latest == {b"key-0": b"18", b"key-1": b"19"}
    assert len(read_records(log)) < 6, "what was overwritten is gone, but for the active segment"


def test_compaction_can_be_switched_off(bench):
    bench = LogBench(settings={"log.cleaner.enable": "false"})
    log = bench.create(
        cleanup_policy="compact", segment_ms="60000", min_cleanable_dirty_ratio="0.01"
    )
    for number in range(6):
        bench.manager.append(
            [(log, build_batch([(b"k", b"%d" % number)], timestamp_ms=bench.clock.now_ms()))]
        )
        bench.background.advance(120)
    run_for(bench, chores_of(bench), HOUR_SECONDS)
    assert len(read_records(log)) == 6


def test_nothing_is_deleted_right_after_the_start(bench):
    log = bench.create(retention_ms="1000")
    bench.append(log, [b"old"], timestamp_ms=1_000)
    chores = chores_of(bench)
    run_for(bench, chores, 25, step=5)
    assert len(read_records(log)) == 1
    run_for(bench, chores, 10, step=5)
    assert read_records(log) == []


def test_time_without_deletion_is_a_setting():
    bench = LogBench(settings={"log.initial.task.delay.ms": "0"})
    log = bench.create(retention_ms="1000")
    bench.append(log, [b"old"], timestamp_ms=1_000)
    run_for(bench, chores_of(bench), 5, step=5)
    assert read_records(log) == []


def test_memory_for_keys_bounds_one_round_of_compaction(bench):
    bench = LogBench(settings={"log.cleaner.dedupe.buffer.size": str(2**20)})
    log = bench.create(
        cleanup_policy="compact", segment_ms="60000", min_cleanable_dirty_ratio="0.01"
    )
    keys_max = 2**20 // KEY_BYTES
    for turn in range(2):
        for start in range(0, 2 * keys_max, 1_000):
            pairs = [(b"%d" % n, b"%d" % turn) for n in range(start, start + 1_000)]
            batch = build_batch(pairs, timestamp_ms=bench.clock.now_ms())
            bench.manager.append([(log, batch)])
        bench.background.advance(120)
    bench.manager.append([(log, build_batch([(b"x", b"")], timestamp_ms=bench.clock.now_ms()))])
    chores = chores_of(bench)
    run_for(bench, chores, 15, step=15)
    after_one_round = len(read_records(log))
    run_for(bench, chores, HOUR_SECONDS)
    assert 2 * keys_max < len(read_records(log)) < after_one_round


def test_rolled_deleted_and_compacted_are_counted():
    counters = StorageCounters()
    bench = LogBench(counters=counters)
    log = bench.create(retention_ms="3600000", segment_bytes="1048576")
    for _ in range(3):
        bench.append(log, [b"x" * 600_000])
    assert counters.segments_rolled == 2
    assert counters.segment_sync_seconds.count > 0
    run_for(bench, chores_of(bench), 2 * HOUR_SECONDS)
    assert (counters.segments_rolled, counters.segments_deleted) == (3, 3)
    assert counters.bytes_compacted == 0


def test_producers_expire_by_what_is_set_now(bench):
    log = bench.create()
    bench.append(log, [b"x"], producer_id=7, producer_epoch=0, base_sequence=0)
    settings = {"producer.id.expiration.ms": "1000"}
    config = BrokerConfig.resolve({}, dynamic=settings)
    chores = Chores(bench.manager, bench.clock, lambda: config)
    run_for(bench, chores, 1200, step=600)
    assert list(log.producers()) == []


def test_damaged_log_is_told_once_and_counted_until_it_is_deleted(bench, caplog):
    log = bench.create(
        cleanup_policy="compact", segment_ms="60000", min_cleanable_dirty_ratio="0.01"
    )
    for number in range(6):
        batch = build_batch([(b"k", b"%d" % number)], timestamp_ms=bench.clock.now_ms())
        bench.manager.append([(log, batch)])
        bench.background.advance(120)
    bench.disk.rot(log.segments[1].path, 65)
    chores = chores_of(bench)
    run_for(bench, chores, HOUR_SECONDS)
    assert chores.uncleanable_count == 1
    assert [record.getMessage().split(":")[0] for record in caplog.records] == [
        "t-0 is damaged and not compacted"
    ]
    chores.forget(log.partition)
    assert chores.uncleanable_count == 0


def test_bytes_that_compaction_reads_are_counted():
    counters = StorageCounters()
    bench = LogBench(counters=counters)
    log = bench.create(
        cleanup_policy="compact", segment_ms="60000", min_cleanable_dirty_ratio="0.01"
    )
    for number in range(6):
        batch = build_batch([(b"k", b"%d" % number)], timestamp_ms=bench.clock.now_ms())
        bench.manager.append([(log, batch)])
        bench.background.advance(120)
    closed_bytes = sum(segment.size_bytes for segment in log.segments[:-1])
    run_for(bench, chores_of(bench), 30, step=15)
    assert counters.bytes_compacted == closed_bytes > 0
