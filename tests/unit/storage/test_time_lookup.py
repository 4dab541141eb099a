"""Finding records by time, through segments and indexes."""

from __future__ import annotations

import pytest

from headrace.model.errors import DamagedLog
from headrace.records.build import build_batch
from headrace.records.record import Record

BASE_MS = 1_000_000


@pytest.fixture
def log(bench):
    log = bench.create(internal_segment_bytes="2000", index_interval_bytes="200")
    for number in range(100):
        bench.append(log, [b"v" * 20], timestamp_ms=BASE_MS + number * 10)
    return log


@pytest.mark.parametrize("number", [0, 1, 17, 50, 99])
def test_first_record_not_older_is_found(log, number):
    expected = (BASE_MS + number * 10, number)
    assert log.offset_for_timestamp(BASE_MS + number * 10) == expected
    assert log.offset_for_timestamp(BASE_MS + number * 10 - 9) == expected


def test_nothing_is_found_after_the_youngest(log):
    assert log.offset_for_timestamp(BASE_MS + 991) is None


def test_lookup_works_after_a_clean_stop_and_a_kill(bench, log):
    for start in (bench.restart, bench.kill_and_start):
        start()
        assert bench.log().offset_for_timestamp(BASE_MS + 505) == (BASE_MS + 510, 51)
        assert bench.log().offset_of_max_timestamp() == (BASE_MS + 990, 99)


def test_deleted_records_are_not_found(log):
    log.delete_records_before(40)
    assert log.offset_for_timestamp(BASE_MS) == (BASE_MS + 400, 40)


def test_record_inside_a_batch_is_found(bench):
    log = bench.create()
    records = [Record(n, ts, None, b"v") for n, ts in enumerate((100, 400, 200, 400, 300))]
    bench.manager.append([(log, build_batch(records))])
    assert log.offset_for_timestamp(150) == (400, 1)
    assert log.offset_of_max_timestamp() == (400, 1)


def test_youngest_of_several_segments_is_the_first_that_has_the_timestamp(bench):
    log = bench.create(internal_segment_bytes="200")
    for timestamp in (100, 900, 300, 900, 200):
        bench.append(log, [b"v" * 50], timestamp_ms=timestamp)
    assert len(log.segments) > 2
    assert log.offset_of_max_timestamp() == (900, 1)


def test_empty_log_has_no_times(bench):
    log = bench.create()
    assert log.offset_for_timestamp(0) is None
    assert log.offset_of_max_timestamp() is None


def test_unsafe_records_are_not_found(bench):
    log = bench.create(durability="fsync")
    bench.append(log, [b"a"], timestamp_ms=100, run=False)
    assert log.offset_for_timestamp(50) is None
    bench.background.run_all()
    assert log.offset_for_timestamp(50) == (100, 0)


def test_damaged_batch_is_named_not_served(bench):
    log = bench.create()
    bench.append(log, [b"v" * 50], timestamp_ms=100)
    bench.disk.rot(log.segments[0].path, 90)
    with pytest.raises(DamagedLog, match="byte 0"):
        log.offset_for_timestamp(50)
    with pytest.raises(DamagedLog):
        list(log.records_from())
