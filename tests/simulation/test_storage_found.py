"""What the fault simulation once found, each as the shortest story that shows it."""

from __future__ import annotations

import pytest

from headrace.model.errors import StorageFailure
from headrace.model.topic import TopicPartition
from headrace.storage.retention import delete_old_segments
from headrace.testing.faulty_disk import FaultyDisk, SimulatedCrash
from headrace.testing.log_bench import LogBench, read_values

T = TopicPartition("t", 0)
SMALL = {"internal_segment_bytes": "200", "index_interval_bytes": "100"}


def acknowledged(bench: LogBench, commit_number: int) -> bool:
    outcome: list[BaseException | None] = []
    bench.manager.when_durable(commit_number, outcome.append)
    bench.background.run_all()
    return outcome == [None]


def test_a_sync_that_succeeds_after_one_that_failed_proves_nothing():
    """The pages count as written after the failure, though the medium lacks them."""
    bench = LogBench(settings={"log.flush.interval.ms": "1000"})
    log = bench.create(durability="fsync", flush_ms="1000")
    assert acknowledged(bench, bench.append(log, [b"one"]).commit_number)
    bench.clock.advance(2)
    bench.disk.fail_next("sync")
    bench.manager.run_housekeeping()
    bench.background.run_all()
    with pytest.raises(StorageFailure):
        bench.append(log, [b"two"])
    with pytest.raises(StorageFailure):
        log.flush()
    with pytest.raises(StorageFailure):
        bench.manager.close()
    bench.lose_power_and_start()
    assert read_values(bench.log()) == [b"one"]


def test_a_failed_sync_and_a_restart_and_a_loss_of_power():
    """The restarted process reads what only the page cache has: it must write it again."""
    bench = LogBench()
    log = bench.create(durability="fsync", flush_ms="1000")
    assert acknowledged(bench, bench.append(log, [b"one"]).commit_number)
    bench.clock.advance(2)
    bench.disk.fail_next("sync")
    bench.manager.run_housekeeping()
    bench.background.run_all()
    bench.kill_and_start()
    bench.lose_power_and_start()
    assert read_values(bench.log()) == [b"one"]


def test_an_append_that_fails_at_the_leader_epoch_leaves_nothing():
    """Its frame was redone after a crash, in place of one that was acknowledged."""
    for seed in range(20):
        bench = LogBench(FaultyDisk(seed))
        log = bench.create(durability="fsync")
        bench.disk.fail_next("rename")
        with pytest.raises(StorageFailure):
            bench.append(log, [b"failed"])
        assert acknowledged(bench, bench.append(log, [b"taken"]).commit_number)
        bench.lose_power_and_start()
        assert read_values(bench.log()) == [b"taken"], f"seed {seed}"


@pytest.mark.parametrize("durability", ["fsync", "page-cache"])
def test_what_was_cut_does_not_come_back_in_place_of_what_followed(durability: str):
    for seed in range(20):
        bench = LogBench(FaultyDisk(seed))
        log = bench.create(durability=durability)
        bench.append(log, [b"kept"])
        bench.append(log, [b"cut off"])
        log.flush()
        log.truncate_to(1)
        assert acknowledged(bench, bench.append(log, [b"instead"]).commit_number)
        bench.lose_power_and_start()
        found = read_values(bench.log())
        assert found in ([b"kept", b"instead"], [b"kept"]), f"seed {seed}"
        assert len(found) == 2 or durability == "page-cache", f"seed {seed}"


def test_deleted_records_stay_deleted_when_retention_dies_half_way():
    """The checkpoint had no entry for a start that is a segment's base; the files were there."""
    for point in range(60):
        bench = LogBench()
        log = bench.create(**SMALL, retention_bytes="300")
        for number in range(6):
            bench.append(log, [b"%d" % number * 60])
        bench.write_checkpoints()
        log.delete_records_before(1)
        bench.disk.crash_at(point)
        try:
            assert delete_old_segments(log, bench.clock.now_ms()) > 0
        except SimulatedCrash:
            bench.kill_and_start()
            assert bench.log().log_start_offset >= 1, f"crash point {point}"
        else:
            return
    raise AssertionError("the deletion never ends")


def test_a_new_topic_does_not_inherit_from_one_that_never_was():
    """A directory whose creation the metadata forgot is not the new topic's."""
    bench = LogBench()
    bench.append(bench.create(), [b"old"])
    old = bench.specs.pop(T)
    bench.kill_and_start()
    log = bench.manager.create_log(*old._replace(topic_id=b"another topic id"))
    assert (log.log_start_offset, log.log_end_offset) == (0, 0)
    assert bench.append(log, [b"new"]).base_offset == 0


def test_a_hole_in_a_log_that_is_not_compacted_ends_it():
    """Power failed, and of two segments that were never synced only the later one is there."""
    bench = LogBench()
    log = bench.create(**SMALL)
    for number in range(4):
        bench.append(log, [b"%d" % number * 60], run=False)
    first, second, *_ = [segment.path for segment in log.segments]
    bench.disk.open(first).truncate(0)
    assert bench.disk.exists(second)
    bench.kill_and_start()
    assert read_values(bench.log()) == []
    assert bench.log().log_end_offset == 0


def test_an_abort_outlives_the_stop_and_a_loss_of_power():
    """Aborted transactions are in no other file: they are synced before the point moves."""
    for seed in range(20):
        bench = LogBench(FaultyDisk(seed, entries_in_order=False))
        log = bench.create(durability="fsync")
        producer = {"producer_id": 5, "producer_epoch": 0, "base_sequence": 0}
        bench.append(log, [b"v"], **producer, transactional=True)
        bench.append_marker(log, 5, abort=True)
        bench.stop()
        bench.lose_power_and_start()
        assert bench.log().aborted_transactions(0, 2) == [(5, 0)], f"seed {seed}"


def test_a_segment_is_not_safe_before_the_frame_of_its_append():
    """Recovery keeps what lies below the recovery point, so the frame has to be there as well: a
    part of an append must not survive alone."""
    for seed in range(20):
        bench = LogBench(FaultyDisk(seed))
        logs = [bench.create(topic, **SMALL, durability="fsync") for topic in ("one", "other")]
        bench.background.run_all()
        bench.manager.append([(log, bench.batch([b"both"])) for log in logs])
        bench.append(logs[0], [b"roll" * 20], run=False)
        assert len(logs[0].segments) == 2
        bench.background.run_newest()  # the closed segment, before the write-ahead log
        bench.clock.advance(100)
        bench.manager.run_housekeeping()
        bench.background.run_newest()  # the checkpoint of the recovery points
        bench.lose_power_and_start()
        found = [read_values(bench.log(topic))[:1] for topic in ("one", "other")]
        assert found[0] == found[1], f"seed {seed}"
