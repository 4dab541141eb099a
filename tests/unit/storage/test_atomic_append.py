"""Appends to several logs, and appends that wait for the medium."""

from __future__ import annotations

import pytest

from headrace.model.errors import DiskFull, InvalidRecord, StorageFailure
from headrace.storage.log_port import Origin
from headrace.testing.faulty_disk import FaultyDisk
from headrace.testing.log_bench import LogBench, read_values


def test_append_to_several_logs_is_one(bench):
    logs = [bench.create(partition=number) for number in range(3)]
    answers = bench.manager.append([(log, bench.batch([b"x"])) for log in logs])
    assert [answer.base_offset for answer in answers] == [0, 0, 0]
    assert [answer.commit_number for answer in answers] == [0, 0, 0]
    assert [read_values(log) for log in logs] == [[b"x"]] * 3
    assert [log.high_watermark for log in logs] == [1, 1, 1]


def test_one_bad_batch_refuses_the_whole_append(bench):
    logs = [bench.create(partition=number) for number in range(2)]
    bad = bench.batch([b"x"], base_offset=4)
    with pytest.raises(InvalidRecord):
        bench.manager.append([(logs[0], bench.batch([b"x"])), (logs[1], bad)])
    assert [log.log_end_offset for log in logs] == [0, 0]


def test_one_log_may_take_several_batches(bench):
    log, other = bench.create(), bench.create("other")
    entries = [
        (log, bench.batch([b"a", b"b"])),
        (other, bench.batch([b"c"])),
        (log, bench.batch([b"d"])),
    ]
    answers = bench.manager.append(entries, origin=Origin.COORDINATOR)
    assert [answer.base_offset for answer in answers] == [0, 0, 2]
    assert read_values(log) == [b"a", b"b", b"d"]


def test_failing_segment_takes_the_append_back(bench):
    logs = [bench.create(partition=number) for number in range(2)]
    bench.manager.append([(log, bench.batch([b"a"])) for log in logs])
    operation = 2  # the frame and the first segment are written, the second segment fails
    bench.disk.fail_at(operation)
    with pytest.raises(StorageFailure):
        bench.manager.append([(log, bench.batch([b"b"])) for log in logs])
    assert [log.log_end_offset for log in logs] == [1, 1]
    bench.kill_and_start()
    assert [read_values(bench.log(partition=number)) for number in range(2)] == [[b"a"], [b"a"]]


def test_full_disk_takes_the_append_back():
    bench = LogBench(FaultyDisk(capacity_bytes=130_000))
    logs = [bench.create(partition=number) for number in range(2)]
    bench.manager.append([(log, bench.batch([b"a"])) for log in logs])
    for _ in range(2):
        bench.manager.append([(log, bench.batch([b"x" * 10_000])) for log in logs])
    with pytest.raises(DiskFull):
        bench.manager.append([(log, bench.batch([b"x" * 30_000])) for log in logs])
    assert [log.log_end_offset for log in logs] == [3, 3]
    bench.disk.capacity_bytes = None
    bench.manager.append([(log, bench.batch([b"z"])) for log in logs])
    bench.kill_and_start()
    for number in range(2):
        assert read_values(bench.log(partition=number))[-1] == b"z"
        assert bench.log(partition=number).log_end_offset == 4


def test_fsync_topic_shows_records_when_they_are_safe(bench):
    log = bench.create(durability="fsync")
    appended = bench.append(log, [b"a"], run=False)
    outcome, heard = [], []
    log.listener = lambda which: heard.append(which.high_watermark)
    bench.manager.when_durable(appended.commit_number, outcome.append)
    assert appended.commit_number > 0
    assert (log.log_end_offset, log.high_watermark, outcome) == (1, 0, [])
    bench.background.run_all()
    assert (log.high_watermark, outcome, heard) == (1, [None], [1])
    bench.manager.when_durable(appended.commit_number, outcome.append)
    assert outcome == [None, None]


def test_append_to_several_fsync_logs_waits_for_the_medium(bench):
    logs = [bench.create(partition=number, durability="fsync") for number in range(2)]
    answers = bench.manager.append([(log, bench.batch([b"x"])) for log in logs])
    outcome = []
    for answer in answers:
        assert answer.commit_number > 0
        bench.manager.when_durable(answer.commit_number, outcome.append)
    assert ([log.high_watermark for log in logs], outcome) == ([0, 0], [])
    bench.background.run_all()
    assert ([log.high_watermark for log in logs], outcome) == ([1, 1], [None, None])


@pytest.mark.parametrize("count", [1, 3])
def test_what_only_the_write_ahead_log_has_is_brought_back(bench, count):
    logs = [bench.create(partition=number, durability="fsync") for number in range(count)]
    bench.manager.append([(log, bench.batch([b"x"])) for log in logs])
    bench.background.run_all()
    for number in range(count):
        bench.disk.open(f"data/t-{number}/{0:020}.log").truncate(0)
    report = bench.kill_and_start()
    assert report.frames_redone == 1
    assert [read_values(bench.log(partition=number)) for number in range(count)] == [[b"x"]] * count


def test_one_sync_serves_all_that_wait(bench):
    log = bench.create(durability="fsync")
    bench.append(log, [b"first"])
    before = bench.disk.history[:]
    for _ in range(10):
        bench.append(log, [b"a"], run=False)
    bench.background.run_all()
    syncs = [line for line in bench.disk.history[len(before) :] if " sync " in line]
    assert len(syncs) == 2
    assert log.high_watermark == 11


def test_duplicate_under_fsync_waits_for_the_first(bench):
    log = bench.create(durability="fsync")
    fields = {"producer_id": 1, "producer_epoch": 0, "base_sequence": 0}
    first = bench.append(log, [b"a"], run=False, **fields)
    again = bench.append(log, [b"a"], run=False, **fields)
    assert again.is_duplicate
    assert again.commit_number >= first.commit_number > 0
    bench.background.run_all()
    assert log.high_watermark == 1


def test_failed_sync_promises_nothing_any_more(bench):
    log, plain = bench.create(durability="fsync"), bench.create("plain")
    appended = bench.append(log, [b"a"], run=False)
    outcome = []
    bench.manager.when_durable(appended.commit_number, outcome.append)
    bench.disk.fail_next("sync")
    bench.background.run_all()
    assert isinstance(outcome[0], StorageFailure)
    assert log.high_watermark == 0
    with pytest.raises(StorageFailure, match="restart"):
        bench.append(log, [b"b"])
    assert bench.append(plain, [b"c"]).base_offset == 0


def test_write_ahead_log_stays_within_its_limit():
    bench = LogBench(write_ahead_log_bytes_max=8_000)
    logs = [bench.create(partition=n, durability="fsync") for n in range(2)]
    for number in range(100):
        bench.append(logs[number % 2], [b"%03d" % number * 100])
        size = sum(
            bench.disk.size(f"data/{name}")
            for name in bench.disk.list("data")
            if "write-ahead" in name
        )
        assert size <= 8_000
    assert min(log.recovery_point for log in logs) > 0
    bench.lose_power_and_start()
    assert [bench.log(partition=n).log_end_offset for n in range(2)] == [50, 50]


def test_writer_waits_when_the_flush_is_behind():
    bench = LogBench(write_ahead_log_bytes_max=4_000)
    log = bench.create(durability="fsync")
    for number in range(60):
        bench.append(log, [b"%03d" % number * 50], run=False)
    assert log.recovery_point > 0
    bench.background.run_all()
    bench.lose_power_and_start()
    assert len(read_values(bench.log())) == 60


def test_memory_logs_leave_no_trace_in_the_write_ahead_log(bench):
    logs = [bench.create(f"m{number}", storage="memory") for number in range(2)]
    bench.manager.append([(log, bench.batch([b"x"])) for log in logs])
    assert not any("write-ahead" in name for name in bench.disk.list("data"))
    assert [read_values(log) for log in logs] == [[b"x"], [b"x"]]


def test_truncated_records_are_not_brought_back(bench):
    logs = [bench.create(partition=number) for number in range(2)]
    for value in (b"a", b"b", b"c"):
        bench.manager.append([(log, bench.batch([value])) for log in logs])
    logs[0].truncate_to(1)
    bench.append(logs[0], [b"new"])
    bench.kill_and_start()
    assert read_values(bench.log()) == [b"a", b"new"]
    assert read_values(bench.log(partition=1)) == [b"a", b"b", b"c"]


def test_durability_can_be_switched(bench):
    log = bench.create()
    bench.append(log, [b"a"])
    bench.manager.update_config(log.partition, bench.topic_config(durability="fsync"))
    bench.specs[log.partition] = bench.specs[log.partition]._replace(config=log.config)
    assert log.recovery_point == 1
    bench.append(log, [b"b"])
    bench.lose_power_and_start()
    assert read_values(bench.log()) == [b"a", b"b"]
    log = bench.log()
    bench.append(log, [b"c"], run=False)
    bench.manager.update_config(log.partition, bench.topic_config())
    assert log.high_watermark == 3
    assert bench.append(log, [b"d"]).commit_number == 0


def test_topic_that_became_fsync_while_down_loses_nothing(bench):
    log = bench.create()
    bench.append(log, [b"a"])
    spec = bench.specs[log.partition]
    bench.specs[log.partition] = spec._replace(config=bench.topic_config(durability="fsync"))
    bench.kill_and_start()
    assert read_values(bench.log()) == [b"a"]
    bench.append(bench.log(), [b"b"])
    bench.lose_power_and_start()
    assert read_values(bench.log()) == [b"a", b"b"]
