"""One partition's log: append, read, roll."""

from __future__ import annotations

import pytest

from headrace.model.errors import DamagedLog, DiskFull, OffsetOutOfRange, StorageFailure
from headrace.records.build import build_batch
from headrace.records.header import batches
from headrace.storage.offset_index import ENTRY
from headrace.testing.faulty_disk import FaultyDisk
from headrace.testing.log_bench import DIRECTORY, LogBench, read_records, read_values


def fill(bench: LogBench, log, count: int, size: int = 10) -> None:
    for number in range(count):
        bench.append(log, [b"%06d" % number + b"x" * size])


def test_append_assigns_offsets_and_moves_the_high_watermark(bench):
    log = bench.create()
    first = bench.append(log, [b"a", b"b"])
    second = bench.append(log, [b"c"])
    assert (first.base_offset, first.last_offset) == (0, 1)
    assert (second.base_offset, second.last_offset, second.commit_number) == (2, 2, 0)
    assert (log.log_end_offset, log.high_watermark, log.last_stable_offset) == (3, 3, 3)
    assert read_values(log) == [b"a", b"b", b"c"]
    assert first.log_append_time_ms == -1


def test_append_stamps_offset_and_leader_epoch(bench):
    log = bench.create()
    log.leader_epoch = 5
    bench.append(log, [b"a"])
    bench.append(log, [b"b"])
    data = log.read(0, 1000, 2, at_least_one=True).read()
    assert [(h.base_offset, h.leader_epoch) for _, h in batches(data)] == [(0, 5), (1, 5)]


def test_read_starts_with_the_batch_that_holds_the_offset(bench):
    log = bench.create()
    bench.append(log, [b"a", b"b", b"c"])
    bench.append(log, [b"d"])
    found = log.read(1, 10_000, 4, at_least_one=True)
    assert found.first_offset == 0
    assert [h.base_offset for _, h in batches(found.read())] == [0, 3]
    assert found.file is not None


def test_read_at_the_end_is_empty_and_beyond_it_out_of_range(bench):
    log = bench.create()
    bench.append(log, [b"a"])
    assert len(log.read(1, 100, 1, at_least_one=True)) == 0
    with pytest.raises(OffsetOutOfRange):
        log.read(2, 100, 2, at_least_one=True)
    with pytest.raises(OffsetOutOfRange):
        log.read(-1, 100, 1, at_least_one=True)


def test_read_of_an_empty_log_is_empty(bench):
    log = bench.create()
    assert log.read(0, 100, 0, at_least_one=True).read() == b""


def test_read_gives_at_least_one_batch_only_if_asked(bench):
    log = bench.create()
    bench.append(log, [b"x" * 500])
    bench.append(log, [b"y"])
    assert len(log.read(0, 10, 2, at_least_one=False)) == 0
    found = log.read(0, 10, 2, at_least_one=True)
    assert [h.base_offset for _, h in batches(found.read())] == [0]


def test_read_ends_at_a_batch_boundary_near_the_tail(bench):
    log = bench.create()
    fill(bench, log, 10)
    size = len(log.read(0, 10_000, 1, at_least_one=True))
    found = log.read(3, 2 * size + 5, 10, at_least_one=True)
    assert [h.base_offset for _, h in batches(found.read())] == [3, 4]
    assert len(found) == 2 * size


def large_batches_that_nobody_remembers(bench):
    """All in the index, none in memory: ten of about 5,000 bytes."""
    log = bench.create()
    for _ in range(10):
        bench.append(log, [b"x" * 5_000])
    bench.restart()
    return bench.log()


def test_read_ends_at_a_batch_boundary_that_the_index_knows(bench):
    log = large_batches_that_nobody_remembers(bench)
    one = log.size_bytes // 10
    for whole in range(2, 9):
        slices = [log.read(1, whole * one + rest, 10, at_least_one=True) for rest in (0, 1, 4_000)]
        assert [len(each) for each in slices] == [whole * one] * 3


@pytest.mark.parametrize("into", [1, 2_000, 5_000])
def test_a_rotten_index_never_cuts_the_first_batch(bench, into):
    log = large_batches_that_nobody_remembers(bench)
    one = log.size_bytes // 10
    bench.stop()
    path = f"{DIRECTORY}/t-0/{0:020d}.index"
    entries = dict(ENTRY.iter_unpack(bench.disk.read_file(path)))
    assert entries[2] == 2 * one
    entries[2] = one + into
    bench.disk.replace_file(path, b"".join(ENTRY.pack(*entry) for entry in entries.items()))
    bench.start()
    assert len(bench.log().read(1, one + 100, 10, at_least_one=True)) >= one


@pytest.mark.parametrize("end_offset", [1, 7, 150, 299])
def test_read_never_passes_the_end_offset(bench, end_offset):
    log = bench.create(index_interval_bytes="200")
    fill(bench, log, 300)
    found = log.read(0, 1 << 20, end_offset, at_least_one=True)
    assert [h.base_offset for _, h in batches(found.read())] == list(range(end_offset))


def test_read_finds_every_offset_in_every_segment(bench):
    log = bench.create(internal_segment_bytes="1000", index_interval_bytes="200")
    fill(bench, log, 200)
    assert len(log.segments) > 10
    for offset in range(200):
        found = log.read(offset, 100, 200, at_least_one=True)
        assert found.first_offset == offset
    assert len(read_records(log)) == 200


def test_log_rolls_by_size_and_snapshots_and_syncs_the_closed_segment(bench):
    log = bench.create(internal_segment_bytes="300")
    fill(bench, log, 10)
    bases = [segment.base_offset for segment in log.segments]
    names = bench.disk.list("data/t-0")
    assert bases == [0, 3, 6, 9]
    for base in bases[:-1]:
        assert {f"{base:020d}.index", f"{base:020d}.timeindex"} <= set(names)
    assert f"{9:020d}.snapshot" in names
    assert log.recovery_point == 9


def test_log_rolls_by_age_of_the_first_batch(bench):
    log = bench.create(segment_ms="1000")
    now = bench.clock.now_ms()
    bench.append(log, [b"a"], timestamp_ms=now)
    bench.append(log, [b"b"], timestamp_ms=now + 1000)
    bench.append(log, [b"c"], timestamp_ms=now + 1001)
    assert [segment.base_offset for segment in log.segments] == [0, 2]


def test_log_without_timestamps_rolls_by_the_clock(bench):
    log = bench.create(segment_ms="1000")
    bench.append(log, [b"a"], timestamp_ms=-1)
    bench.append(log, [b"b"], timestamp_ms=-1)
    bench.clock.advance(2)
    bench.append(log, [b"c"], timestamp_ms=-1)
    assert [segment.base_offset for segment in log.segments] == [0, 2]


def test_jitter_spreads_the_rolls_of_partitions(bench):
    logs = [
        bench.create(partition=number, segment_ms="100000", segment_jitter_ms="90000")
        for number in range(8)
    ]
    for log in logs:
        bench.append(log, [b"a"])
    jitters = {log.active.jitter_ms for log in logs}
    assert len(jitters) > 4
    assert all(0 <= jitter < 90_000 for jitter in jitters)


def test_log_rolls_when_an_index_is_full(bench):
    log = bench.create(segment_index_bytes="48", index_interval_bytes="0")
    fill(bench, log, 15)
    assert [segment.base_offset for segment in log.segments] == [0, 7, 14]


def test_log_rolls_before_relative_offsets_overflow(bench):
    log = bench.create()
    bench.append(log, [b"a"])
    log.active.offset_max = 1
    bench.append(log, [b"b"])
    bench.append(log, [b"c"])
    assert [segment.base_offset for segment in log.segments] == [0, 2]


def test_full_disk_leaves_the_log_as_it_was():
    disk = FaultyDisk(capacity_bytes=3_000)
    bench = LogBench(disk)
    log = bench.create()
    bench.append(log, [b"a"])
    with pytest.raises(DiskFull):
        bench.append(log, [b"x" * 4000])
    assert (log.log_end_offset, log.size_bytes) == (1, disk.size("data/t-0/" + "0" * 20 + ".log"))
    disk.capacity_bytes = None
    assert bench.append(log, [b"y" * 4000]).base_offset == 1
    assert read_values(log) == [b"a", b"y" * 4000]


def test_failed_write_leaves_producers_as_they_were(bench):
    log = bench.create()
    bench.append(log, [b"a"], producer_id=1, producer_epoch=0, base_sequence=0)
    bench.disk.fail_next("write")
    with pytest.raises(StorageFailure):
        bench.append(log, [b"b"], producer_id=1, producer_epoch=0, base_sequence=1)
    again = bench.append(log, [b"b"], producer_id=1, producer_epoch=0, base_sequence=1)
    assert again.base_offset == 1


def test_listener_hears_of_each_append(bench):
    log = bench.create()
    heard = []
    log.listener = lambda which: heard.append(which.high_watermark)
    bench.append(log, [b"a"])
    bench.append(log, [b"b", b"c"])
    assert heard == [1, 3]


def test_slice_keeps_its_file_while_it_is_pinned(bench):
    log = bench.create(internal_segment_bytes="200")
    fill(bench, log, 6)
    found = log.read(0, 1000, 6, at_least_one=True)
    found.pin()
    log.delete_records_before(6)
    bench.background.advance(3600)
    assert len(found.read()) == len(found)
    found.release()


def test_records_from_yields_whole_batches(bench):
    log = bench.create(internal_segment_bytes="300")
    fill(bench, log, 10)
    offsets = [next(batches(batch))[1].base_offset for batch in log.records_from()]
    assert offsets == list(range(10))
    assert len(list(log.records_from(7))) == 3


def test_flush_messages_bounds_what_is_not_on_the_medium(bench):
    log = bench.create(flush_messages="3")
    for _ in range(7):
        bench.append(log, [b"a"])
        assert log.log_end_offset - log.recovery_point < 3


def test_settings_change_for_the_next_append(bench):
    log = bench.create()
    fill(bench, log, 5)
    bench.manager.update_config(log.partition, bench.topic_config(internal_segment_bytes="100"))
    fill(bench, log, 2)
    assert [segment.base_offset for segment in log.segments] == [0, 5, 6]


def test_batches_are_stored_byte_for_byte(bench):
    log = bench.create()
    batch = build_batch([(b"k", b"v")], timestamp_ms=bench.clock.now_ms())
    bench.manager.append([(log, batch)])
    assert bench.disk.read_file("data/t-0/" + "0" * 20 + ".log") == bytes(batch)


@pytest.mark.parametrize("durability", ["page-cache", "fsync"])
@pytest.mark.parametrize("damage", ["cut", "garbage", "another length"])
def test_nothing_is_written_behind_damage(durability: str, damage: str):
    """After a clean stop nobody looks into the files, until somebody wants to append."""
    bench = LogBench()
    log = bench.create(durability=durability)
    fill(bench, log, 3)
    bench.stop()
    file = bench.disk.open(log.active.path)
    size = file.size()
    if damage == "cut":
        file.truncate(size - 5)
    elif damage == "garbage":
        file.write_at(size, b"garbage" * 20)
    else:
        file.write_at(8, b"\x00\x00\x00\xff")
    bench.start()
    with pytest.raises(DamagedLog, match="does not end at offset 3"):
        bench.append(bench.log(), [b"lost at the next start"])
    with pytest.raises(StorageFailure):
        bench.append(bench.log(), [b"refused as well"])
    with pytest.raises(StorageFailure):
        bench.manager.close()
    bench.kill_and_start()
    found = read_values(bench.log())
    appended = bench.append(bench.log(), [b"after the repair"])
    assert appended.base_offset == len(found)
    assert read_values(bench.log()) == [*found, b"after the repair"]
