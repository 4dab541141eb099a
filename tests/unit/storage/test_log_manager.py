"""All logs of a node."""

from __future__ import annotations

import pytest

from headrace.model.errors import DamagedLog, InvalidConfig, UnknownTopicOrPartition
from headrace.model.topic import TopicPartition
from headrace.testing.log_bench import LogBench, read_values


def test_new_log_is_a_directory_with_the_topics_id(bench):
    log = bench.create("orders", 3)
    assert bench.disk.list("data/orders-3") == ["partition.metadata"]
    assert bench.manager.get(TopicPartition("orders", 3)) is log
    assert bench.manager.get(TopicPartition("orders", 4)) is None
    bench.append(log, [b"a"])
    assert f"{0:020d}.log" in bench.disk.list("data/orders-3")


def test_deleted_log_is_out_of_sight_at_once_and_gone_later(bench):
    log = bench.create(file_delete_delay_ms="60000")
    bench.append(log, [b"a"])
    heard = []
    log.listener = heard.append
    found = log.read(0, 1000, 1, at_least_one=True)
    found.pin()
    bench.manager.delete_log(log.partition)
    assert bench.manager.get(log.partition) is None
    assert (log.is_deleted, heard) == (True, [log])
    (name,) = [name for name in bench.disk.list("data") if name.endswith("-delete")]
    assert name.startswith("t-0.")
    assert found.read()
    found.release()
    bench.background.advance(61)
    assert not [name for name in bench.disk.list("data") if name.endswith("-delete")]


@pytest.mark.parametrize("storage", ["disk", "memory"])
def test_deleted_log_takes_nothing_more(bench, storage):
    log = bench.create(storage=storage)
    bench.append(log, [b"a"])
    bench.manager.delete_log(log.partition)
    with pytest.raises(UnknownTopicOrPartition):
        bench.append(log, [b"b"])


def test_topic_can_be_created_again_at_once(bench):
    for number in range(3):
        log = bench.create()
        assert bench.append(log, [b"%d" % number]).base_offset == 0
        bench.manager.delete_log(log.partition)
    log = bench.create()
    assert read_values(log) == []
    bench.kill_and_start()
    assert not [name for name in bench.disk.list("data") if name.endswith("-delete")]


def test_long_topic_names_can_be_deleted(bench):
    log = bench.create("x" * 249)
    bench.manager.delete_log(log.partition)
    assert max(map(len, bench.disk.list("data"))) <= 255


def test_storage_of_a_topic_cannot_be_changed(bench):
    log = bench.create()
    with pytest.raises(InvalidConfig, match="storage"):
        bench.manager.update_config(log.partition, bench.topic_config(storage="memory"))


def test_descriptors_stay_within_the_limit():
    bench = LogBench(settings={"headrace.open.files.max": "16"})
    logs = [bench.create(partition=number) for number in range(50)]
    for round_number in range(3):
        for log in logs:
            bench.append(log, [b"%d" % round_number])
            assert bench.manager.files.open_count <= 16
    assert all(read_values(log) == [b"0", b"1", b"2"] for log in logs)


def test_clean_start_reads_checkpoints_only():
    bench = LogBench()
    for number in range(20):
        bench.append(bench.create(partition=number), [b"a"])
    bench.stop()
    before = bench.disk.reads
    bench.start()
    lists = 20 + 1
    checkpoint_files = 3
    assert bench.disk.reads - before <= lists + checkpoint_files
    assert bench.manager.files.open_count == 0


def test_log_that_nobody_touched_is_not_written_at_the_stop():
    bench = LogBench()
    bench.append(bench.create(), [b"a"])
    bench.restart()
    before = len(bench.disk.history)
    bench.restart()
    assert not [line for line in bench.disk.history[before:] if "t-0/" in line]
    assert read_values(bench.log()) == [b"a"]


def test_missing_directory_is_begun_empty_and_said(bench):
    log = bench.create()
    bench.append(log, [b"a"])
    bench.stop()
    bench.disk.remove_tree("data/t-0")
    report = bench.start()
    assert report.lines() == ["t-0: directory is missing, begun empty"]
    assert bench.append(bench.log(), [b"b"]).base_offset == 0


def test_progress_is_told(bench):
    for number in range(3):
        bench.create(partition=number)
    bench.disk.kill()
    told = []
    bench.background.forget()
    manager = type(bench.manager)("data", bench.disk, bench.clock, bench.background, bench.config)
    manager.open(list(bench.specs.values()), lambda done, total: told.append((done, total)))
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_flush_ms_brings_records_to_the_medium(bench):
    log = bench.create(flush_ms="5000")
    bench.append(log, [b"a"])
    bench.manager.run_housekeeping()
    bench.background.run_all()
    assert log.recovery_point == 0
    bench.clock.advance(6)
    bench.manager.run_housekeeping()
    bench.background.run_all()
    assert log.recovery_point == 1


def test_empty_logs_survive_every_stop(bench):
    bench.create()
    bench.restart()
    bench.kill_and_start()
    log = bench.log()
    assert (log.log_start_offset, log.log_end_offset, log.last_stable_offset) == (0, 0, 0)
    assert bench.append(log, [b"a"]).base_offset == 0


def test_log_that_cannot_be_closed_does_not_keep_the_others_from_it(bench):
    bad, good = bench.create("bad"), bench.create("good")
    bench.append(bad, [b"x"], producer_id=1, producer_epoch=0, base_sequence=0)
    bench.append(good, [b"y"])
    bench.background.run_all()
    bad.active.handle.close()
    bench.disk.remove("data/bad-0/00000000000000000000.log")
    with pytest.raises(DamagedLog):
        bench.manager.close()
    assert not bench.disk.exists("data/.kafka_cleanshutdown")
    del bench.specs[bad.partition]
    report = bench.start()
    assert not report.is_clean
    assert read_values(bench.log("good")) == [b"y"]
