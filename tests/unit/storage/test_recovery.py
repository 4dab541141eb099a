"""A log after a stop that was not clean."""

from __future__ import annotations

import pytest

from headrace.storage.checkpoints import read_offsets
from headrace.testing.log_bench import LogBench, read_records, read_values

LOG = "data/t-0/" + "0" * 20 + ".log"
INDEX = "data/t-0/" + "0" * 20 + ".index"
TIME_INDEX = "data/t-0/" + "0" * 20 + ".timeindex"


def fill(bench: LogBench, log, count: int, first: int = 0) -> list[bytes]:
    values = [b"%06d" % number + b"x" * 50 for number in range(first, first + count)]
    for value in values:
        bench.append(log, [value])
    return values


def test_clean_stop_starts_without_reading_a_log(bench):
    for partition in range(3):
        fill(bench, bench.create(partition=partition), 3)
    report = bench.restart()
    reads_of_logs = [line for line in bench.disk.history if ".log" in line and "read" in line]
    assert report.is_clean
    assert str(report) == "opened 3 logs after a clean stop"
    assert bench.manager.files.open_count == 0
    assert reads_of_logs == []
    assert bench.log().log_end_offset == 3
    assert not bench.disk.exists("data/.kafka_cleanshutdown")


def test_log_goes_on_after_a_clean_stop(bench):
    values = fill(bench, bench.create(index_interval_bytes="200"), 20)
    bench.restart()
    log = bench.log()
    assert read_values(log, 5) == values[5:]
    values += fill(bench, log, 20, first=20)
    assert read_values(log) == values
    bench.restart()
    assert read_values(bench.log()) == values


def test_kill_loses_nothing(bench):
    values = fill(bench, bench.create(internal_segment_bytes="1000"), 30)
    report = bench.kill_and_start()
    assert not report.is_clean
    assert read_values(bench.log()) == values
    assert report.details[0].cut_bytes == 0


def test_torn_write_is_cut_and_reported(bench):
    values = fill(bench, bench.create(), 5)
    file = bench.disk.open(LOG)
    file.truncate(file.size() - 7)
    report = bench.kill_and_start()
    assert read_values(bench.log()) == values[:4]
    assert "cut a torn write" in report.lines()[0]
    assert bench.append(bench.log(), [b"new"]).base_offset == 4
    assert not any(name.endswith(".cut") for name in bench.disk.list("data/t-0"))


def test_nothing_is_left_of_a_torn_write_in_the_file(bench):
    """What a later, shorter write does not cover would come back at the next start."""
    fill(bench, bench.create(), 4)
    sound_bytes = bench.disk.size(LOG)
    file = bench.disk.open(LOG)
    file.write_at(sound_bytes, bench.batch([b"torn" * 100], base_offset=4)[:200])
    bench.kill_and_start()
    assert bench.disk.size(LOG) == sound_bytes
    bench.append(bench.log(), [b"short"])
    bench.restart()
    assert bench.log().log_end_offset == 5
    assert read_values(bench.log())[4:] == [b"short"]


def test_damage_inside_a_record_is_not_taken_over(bench):
    """Every field of the header is as it should be: only the checksum tells."""
    fill(bench, bench.create(), 3)
    bench.log().recovery_point = 0
    bench.write_checkpoints()
    bench.disk.rot(LOG, bench.disk.size(LOG) // 3 - 3)
    report = bench.kill_and_start()
    assert bench.log().log_end_offset == 0
    assert "wrong checksum" in "".join(report.lines())


def test_damage_in_the_middle_cuts_there_and_keeps_the_rest_aside(bench):
    values = fill(bench, bench.create(internal_segment_bytes="1000"), 30)
    log = bench.log()
    log.recovery_point = 0
    bench.write_checkpoints()
    size = bench.disk.size(LOG)
    bench.disk.rot(LOG, size // 2)
    report = bench.kill_and_start()
    found = read_values(bench.log())
    assert found == values[: len(found)]
    assert 0 < len(found) < 30
    kept = [name for name in bench.disk.list("data/t-0") if name.endswith(".cut")]
    kept_bytes = sum(bench.disk.size(f"data/t-0/{name}") for name in kept)
    assert kept_bytes == report.details[0].cut_bytes > 0
    assert all(any(name in line for line in report.lines()) for name in kept)
    assert bench.append(bench.log(), [b"new"]).base_offset == len(found)


def test_recovery_starts_at_the_recovery_point(bench):
    log = bench.create(index_interval_bytes="200")
    values = fill(bench, log, 30)
    log.flush()
    bench.write_checkpoints()
    values += fill(bench, log, 5, first=30)
    before = len(log.read(30, 1 << 20, 35, at_least_one=True))
    report = bench.kill_and_start()
    assert report.details[0].scanned_bytes == before
    assert read_values(bench.log()) == values
    assert bench.log().offset_of_max_timestamp() is not None


def test_torn_write_behind_the_recovery_point_is_cut(bench):
    log = bench.create()
    values = fill(bench, log, 5)
    log.flush()
    bench.write_checkpoints()
    bench.append(log, [b"torn"])
    file = bench.disk.open(LOG)
    file.truncate(file.size() - 3)
    bench.kill_and_start()
    assert read_values(bench.log()) == values
    assert bench.append(bench.log(), [b"new"]).base_offset == 5
    bench.kill_and_start()
    assert read_values(bench.log()) == [*values, b"new"]


@pytest.mark.parametrize("path", [INDEX, TIME_INDEX])
@pytest.mark.parametrize("how", ["missing", "partial", "nonsense"])
def test_unusable_index_is_rebuilt(bench, path, how):
    log = bench.create(index_interval_bytes="200", internal_segment_bytes="4000")
    for number in range(100):
        bench.append(log, [b"%04d" % number + b"x" * 50], timestamp_ms=1000 + number)
    assert log.recovery_point > 0
    good = bench.disk.read_file(path)
    bench.write_checkpoints()
    if how == "missing":
        bench.disk.remove(path)
    elif how == "partial":
        bench.disk.open(path).truncate(len(good) - 3)
    else:
        bench.disk.open(path).write_at(0, b"\x7f" * (len(good) // 2))
    report = bench.kill_and_start()
    assert any("rebuilt" in line for line in report.lines())
    assert bench.disk.read_file(path) == good
    assert len(read_records(bench.log())) == 100


def test_recovered_indexes_equal_those_of_a_clean_stop():
    contents = []
    for stop in ("clean", "kill"):
        bench = LogBench()
        log = bench.create(index_interval_bytes="300")
        for number in range(50):
            bench.append(log, [b"x" * (number % 7) * 30], timestamp_ms=1000 + number)
        if stop == "kill":
            bench.kill_and_start()
        bench.restart()
        contents.append(
            {name: bench.disk.read_file(f"data/t-0/{name}") for name in bench.disk.list("data/t-0")}
        )
    assert contents[0] == contents[1]


def test_leftovers_of_deletion_and_compaction_are_put_right(bench):
    values = fill(bench, bench.create(internal_segment_bytes="300"), 9)
    names = [f"{base:020d}.log" for base in (0, 2, 4)]
    for name in names:
        assert bench.disk.exists(f"data/t-0/{name}")
    data = b"".join(bench.disk.read_file(f"data/t-0/{name}") for name in names[:2])
    bench.disk.replace_file(f"data/t-0/{names[0]}.swap", data)
    bench.disk.replace_file(f"data/t-0/{99:020d}.log.deleted", b"old")
    bench.disk.replace_file(f"data/t-0/{50:020d}.index.cleaned", b"half")
    bench.kill_and_start()
    log = bench.log()
    assert [segment.base_offset for segment in log.segments][:2] == [0, 4]
    assert read_values(log) == values
    left = bench.disk.list("data/t-0")
    assert not [name for name in left if name.endswith((".swap", ".deleted", ".cleaned"))]


def test_orphaned_index_is_removed(bench):
    fill(bench, bench.create(), 3)
    bench.disk.replace_file(f"data/t-0/{7:020d}.timeindex", b"x" * 12)
    report = bench.kill_and_start()
    assert any("has no log file" in line for line in report.lines())
    assert not bench.disk.exists(f"data/t-0/{7:020d}.timeindex")


def test_damaged_checkpoint_is_ignored_and_said(bench):
    values = fill(bench, bench.create(), 3)
    bench.restart()
    bench.disk.replace_file("data/recovery-point-offset-checkpoint", b"rubbish")
    report = bench.start()
    assert "damaged checkpoint" in report.lines()[0]
    assert read_values(bench.log()) == values


def test_damaged_snapshot_is_replaced_by_a_scan(bench):
    log = bench.create()
    bench.append(log, [b"a"], producer_id=1, producer_epoch=0, base_sequence=0)
    bench.restart()
    bench.disk.rot(f"data/t-0/{1:020d}.snapshot", 12)
    assert bench.append(
        bench.log(), [b"a"], producer_id=1, producer_epoch=0, base_sequence=0
    ).is_duplicate


def test_directory_of_a_deleted_topic_is_not_taken_for_the_new_one(bench):
    fill(bench, bench.create(), 3)
    partition, old = next(iter(bench.specs.items()))
    bench.specs[partition] = old._replace(topic_id=b"another topic id")
    report = bench.kill_and_start()
    assert "another topic" in report.lines()[0]
    assert bench.log().log_end_offset == 0


def test_stop_writes_the_checkpoints_that_kafka_writes(bench):
    log = bench.create()
    fill(bench, log, 4)
    log.delete_records_before(2)
    bench.stop()
    for name, offset in (
        ("recovery-point-offset-checkpoint", 4),
        ("replication-offset-checkpoint", 4),
        ("log-start-offset-checkpoint", 2),
    ):
        assert read_offsets(bench.disk, f"data/{name}") == {log.partition: offset}
    assert bench.disk.read_file("data/.kafka_cleanshutdown") == b'{"version":0,"brokerEpoch":-1}'
    assert bench.disk.read_file("data/t-0/leader-epoch-checkpoint") == b"0\n1\n0 2\n"
