"""Making a log shorter at either end."""

from __future__ import annotations

import pytest

from headrace.model.errors import OffsetOutOfRange
from headrace.storage.log_trimming import remove_first_segments
from headrace.testing.log_bench import read_records, read_values


@pytest.fixture
def log(bench):
    log = bench.create(
        internal_segment_bytes="500", index_interval_bytes="100", file_delete_delay_ms="1000"
    )
    for number in range(30):
        bench.append(log, [b"%03d" % number + b"x" * 50])
    return log


def offsets(log) -> list[int]:
    return [record.offset for record in read_records(log)]


def test_delete_records_moves_the_start_and_gives_segments_back(bench, log):
    before = log.size_bytes
    assert log.delete_records_before(17) == 17
    assert log.log_start_offset == 17
    assert offsets(log) == list(range(17, 30))
    assert log.segments[0].base_offset <= 17 < log.segments[1].base_offset
    assert log.size_bytes < before
    names = bench.disk.list("data/t-0")
    assert any(name.endswith(".deleted") for name in names)
    bench.background.advance(2)
    names = bench.disk.list("data/t-0")
    assert not any(name.endswith(".deleted") for name in names)
    assert f"{0:020d}.log" not in names


def test_log_start_never_goes_back(bench, log):
    log.delete_records_before(17)
    assert log.delete_records_before(3) == 17
    bench.kill_and_start()
    assert bench.log().log_start_offset == 17
    bench.restart()
    assert bench.log().log_start_offset == 17
    with pytest.raises(OffsetOutOfRange):
        bench.log().read(16, 100, 30, at_least_one=True)


def test_all_records_can_be_deleted(bench, log):
    assert log.delete_records_before(30) == 30
    assert read_records(log) == []
    bench.restart()
    log = bench.log()
    assert (log.log_start_offset, log.log_end_offset) == (30, 30)
    assert bench.append(log, [b"new"]).base_offset == 30
    assert read_values(log) == [b"new"]


def test_records_above_the_high_watermark_cannot_be_deleted(log):
    with pytest.raises(OffsetOutOfRange):
        log.delete_records_before(31)


def test_oldest_segments_can_be_removed(bench, log):
    base = log.segments[2].base_offset
    freed = remove_first_segments(log, 2)
    assert freed > 0
    assert log.log_start_offset == base
    bench.kill_and_start()
    assert bench.log().log_start_offset == base
    assert offsets(bench.log()) == list(range(base, 30))


@pytest.mark.parametrize("offset", [0, 1, 7, 12, 29])
def test_truncation_drops_everything_from_the_offset_on(bench, log, offset):
    heard = []
    log.listener = lambda which: heard.append(which.high_watermark)
    log.truncate_to(offset)
    assert (log.log_end_offset, log.high_watermark, heard) == (offset, offset, [offset])
    assert offsets(log) == list(range(offset))
    assert bench.append(log, [b"new"]).base_offset == offset
    bench.kill_and_start()
    assert offsets(bench.log()) == list(range(offset + 1))


def test_truncation_beyond_the_end_does_nothing(log):
    log.truncate_to(99)
    assert log.log_end_offset == 30


def test_truncation_takes_a_batch_as_a_whole(bench):
    log = bench.create("whole")
    bench.append(log, [b"a", b"b", b"c"])
    bench.append(log, [b"d", b"e"])
    log.truncate_to(4)
    assert log.log_end_offset == 3


def test_truncation_takes_transactions_back(bench):
    log = bench.create("transactions")
    bench.append(log, [b"a"], producer_id=1, producer_epoch=0, base_sequence=0, transactional=True)
    bench.append_marker(log, 1, abort=True)
    log.truncate_to(1)
    assert (log.last_stable_offset, log.aborted_transactions(0, 1)) == (0, [])
    bench.append_marker(log, 1, abort=False)
    assert (log.last_stable_offset, log.aborted_transactions(0, 2)) == (2, [])


def test_time_index_follows_a_truncation(bench):
    log = bench.create("times", index_interval_bytes="0")
    for timestamp in (100, 900, 300):
        bench.append(log, [b"v"], timestamp_ms=timestamp)
    log.truncate_to(1)
    bench.append(log, [b"v"], timestamp_ms=200)
    assert log.offset_of_max_timestamp() == (200, 1)
    assert log.offset_for_timestamp(150) == (200, 1)


def test_snapshots_of_what_was_cut_are_not_taken_for_those_of_what_follows(bench):
    """Offset 4 is written twice, by two producers; the file of the first must not speak for it."""
    log = bench.create("snapshots")
    for sequence in range(4):
        bench.append(log, [b"v"], producer_id=1, producer_epoch=0, base_sequence=sequence)
    log.roll(bench.clock.now_ms())
    log.truncate_to(1)
    for sequence in range(3):
        bench.append(log, [b"v"], producer_id=2, producer_epoch=0, base_sequence=sequence)
    log.roll(bench.clock.now_ms())
    bench.restart()
    producers = {
        view.producer_id: view.last_sequence for view in bench.log("snapshots").producers()
    }
    assert producers == {1: 0, 2: 2}
