"""The log that lives in memory obeys the same rules as the one on disk."""

from __future__ import annotations

import pytest

from headrace.model.errors import OffsetOutOfRange, OutOfOrderSequence
from headrace.records.header import batches
from headrace.testing.log_bench import read_values


@pytest.fixture(params=["memory", "disk"])
def log(request, bench):
    return bench.create(storage=request.param)


def test_append_and_read(bench, log):
    bench.append(log, [b"a", b"b"])
    bench.append(log, [b"c"])
    assert read_values(log) == [b"a", b"b", b"c"]
    assert read_values(log, 1) == [b"b", b"c"]
    assert (log.log_end_offset, log.high_watermark, log.last_stable_offset) == (3, 3, 3)
    assert log.size_bytes == len(log.read(0, 10_000, 3, at_least_one=True))


def test_limits_of_a_read(bench, log):
    for value in (b"a" * 100, b"b" * 100, b"c"):
        bench.append(log, [value])
    one = len(log.read(0, 1, 3, at_least_one=True))
    assert [h.base_offset for _, h in batches(log.read(0, 1, 3, at_least_one=True).read())] == [0]
    assert len(log.read(0, 1, 3, at_least_one=False)) == 0
    assert len(log.read(0, 2 * one, 3, at_least_one=False)) == 2 * one
    assert len(log.read(0, 10_000, 1, at_least_one=True)) == one
    assert len(log.read(3, 100, 3, at_least_one=True)) == 0
    with pytest.raises(OffsetOutOfRange):
        log.read(4, 100, 3, at_least_one=True)


def test_producers_and_transactions(bench, log):
    fields = {"producer_id": 4, "producer_epoch": 0}
    bench.append(log, [b"a"], base_sequence=0, transactional=True, **fields)
    assert bench.append(log, [b"a"], base_sequence=0, transactional=True, **fields).is_duplicate
    with pytest.raises(OutOfOrderSequence):
        bench.append(log, [b"b"], base_sequence=5, transactional=True, **fields)
    assert log.last_stable_offset == 0
    bench.append_marker(log, 4, abort=True)
    assert (log.last_stable_offset, log.aborted_transactions(0, 2)) == (2, [(4, 0)])
    assert [view.producer_id for view in log.producers()] == [4]


def test_delete_records_and_truncate(bench, log):
    for number in range(6):
        bench.append(log, [b"%d" % number])
    assert log.delete_records_before(2) == 2
    assert log.delete_records_before(1) == 2
    with pytest.raises(OffsetOutOfRange):
        log.delete_records_before(7)
    with pytest.raises(OffsetOutOfRange):
        log.read(1, 100, 6, at_least_one=True)
    log.truncate_to(4)
    assert read_values(log) == [b"2", b"3"]
    assert (log.log_start_offset, log.log_end_offset, log.high_watermark) == (2, 4, 4)
    assert bench.append(log, [b"new"]).base_offset == 4


def test_truncate_forgets_what_producers_wrote(bench, log):
    for sequence in range(3):
        bench.append(log, [b"v"], producer_id=1, producer_epoch=0, base_sequence=sequence)
    log.truncate_to(1)
    assert [view.last_sequence for view in log.producers()] == [0]
    appended = bench.append(log, [b"v"], producer_id=1, producer_epoch=0, base_sequence=1)
    assert (appended.base_offset, appended.is_duplicate) == (1, False)


def test_look_up_by_time(bench, log):
    for timestamp in (100, 300, 200, 300):
        bench.append(log, [b"v"], timestamp_ms=timestamp)
    assert log.offset_for_timestamp(50) == (100, 0)
    assert log.offset_for_timestamp(150) == (300, 1)
    assert log.offset_for_timestamp(301) is None
    assert log.offset_of_max_timestamp() == (300, 1)


def test_leader_epochs(bench, log):
    bench.append(log, [b"a"])
    log.leader_epoch = 3
    bench.append(log, [b"b"])
    assert log.end_offset_for_epoch(0) == (0, 1)
    assert log.end_offset_for_epoch(2) == (0, 1)
    assert log.end_offset_for_epoch(3) == (3, 2)
    assert log.end_offset_for_epoch(4) == (-1, -1)


def test_memory_is_bounded_by_retention_bytes(bench):
    log = bench.create(storage="memory", retention_bytes="2000")
    for _ in range(50):
        bench.append(log, [b"x" * 200])
    assert log.size_bytes <= 2000
    assert log.log_start_offset > 40
    assert log.log_end_offset == 50
    assert len(read_values(log)) == 50 - log.log_start_offset


def test_memory_forgets_by_time_and_at_the_stop(bench):
    log = bench.create(storage="memory")
    for timestamp in (100, 200, 300):
        bench.append(log, [b"v"], timestamp_ms=timestamp)
    assert log.drop_older_than(250) == 2
    assert (log.log_start_offset, len(read_values(log))) == (2, 1)
    bench.restart()
    assert bench.log().log_end_offset == 0
    assert not bench.disk.exists("data/t-0")
