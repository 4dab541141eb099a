"""What a reader of committed records is told of aborted transactions: all, and little more."""

from __future__ import annotations

import pytest

from headrace.records.header import HEADER_SIZE, batches
from headrace.storage.offset_index import ENTRY
from headrace.testing.log_bench import DIRECTORY, LogBench
from tests.unit.storage.test_producer_state import send

TRANSACTIONS = 40
EVERYTHING_BYTES = 1 << 20
FIRST_INDEX = f"{DIRECTORY}/t-0/{0:020d}.index"


def fill(bench, log, *, overlapping=False):
    """Every other one is aborted. Where they overlap, each ends in the middle of the next."""
    for producer in range(TRANSACTIONS):
        send(bench, log, 0, producer=producer, transactional=True)
        if not overlapping:
            bench.append_marker(log, producer, abort=producer % 2 == 0)
        elif producer:
            bench.append_marker(log, producer - 1, abort=(producer - 1) % 2 == 0)
    if overlapping:
        bench.append_marker(log, TRANSACTIONS - 1, abort=False)


def read(log, offset, max_bytes):
    return log.read(offset, max_bytes, log.last_stable_offset, at_least_one=True)


def end_of(records):
    """Behind the last batch that has at least begun."""
    data = records.read()
    whole = [(start, header) for start, header in batches(data)]
    start, header = whole[-1]
    is_cut = start + header.size_bytes + HEADER_SIZE <= len(data)
    return header.last_offset + 1 + is_cut


def raise_if_one_is_left_out(log):
    """Each place to begin, each size of an answer: what touches it is told."""
    stable = log.last_stable_offset
    for offset in range(stable):
        for max_bytes in (1, 150, 333, 700, 2_000, EVERYTHING_BYTES):
            records = read(log, offset, max_bytes)
            told = log.aborted_in(records, offset, stable)
            assert set(told) >= set(log.aborted_transactions(offset, end_of(records)))
            assert told == sorted(told, key=lambda pair: pair[1])


KINDS = (
    pytest.param({}, id="one segment"),
    pytest.param({"internal_segment_bytes": "1000"}, id="many segments"),
    pytest.param({"index_interval_bytes": "1"}, id="every batch in the index"),
    pytest.param({"index_interval_bytes": "500"}, id="some batches in the index"),
    pytest.param({"storage": "memory"}, id="in memory"),
)


@pytest.mark.parametrize("overlapping", [False, True])
@pytest.mark.parametrize("settings", KINDS)
def test_none_is_left_out(settings, overlapping):
    bench = LogBench()
    log = bench.create(**settings)
    fill(bench, log, overlapping=overlapping)
    raise_if_one_is_left_out(log)
    if "storage" not in settings:
        bench.restart()  # nothing is known of single batches any more
        raise_if_one_is_left_out(bench.log())
        send(bench, bench.log(), 0, producer=100, transactional=True)
        bench.append_marker(bench.log(), 100, abort=True)
        raise_if_one_is_left_out(bench.log())


@pytest.mark.parametrize("settings", [{}, {"storage": "memory"}])
def test_those_behind_the_answer_are_not_told(settings):
    bench = LogBench()
    log = bench.create(**settings)
    fill(bench, log)
    assert log.aborted_in(read(log, 0, 1), 0, log.last_stable_offset) == [(0, 0)]
    assert log.aborted_in(read(log, 2, 1), 2, log.last_stable_offset) == []
    everything = read(log, 0, EVERYTHING_BYTES)
    assert len(log.aborted_in(everything, 0, log.last_stable_offset)) == TRANSACTIONS // 2


def test_the_index_bounds_what_is_no_longer_in_memory():
    bench = LogBench()
    fill(bench, bench.create(index_interval_bytes="1"))
    bench.restart()
    log = bench.log()
    assert log.aborted_in(read(log, 0, 1), 0, log.last_stable_offset) == [(0, 0)]


def test_a_log_without_aborted_transactions_needs_no_bound():
    bench = LogBench()
    log = bench.create()
    send(bench, log, 0, transactional=True)
    bench.append_marker(log, 1, abort=False)
    assert log.aborted_in(read(log, 0, 1), 0, 2) == []


@pytest.mark.parametrize("shift", [-3, 3])
def test_a_rotten_index_leaves_none_out(shift):
    bench = LogBench()
    fill(bench, bench.create(index_interval_bytes="1"), overlapping=True)
    bench.stop()
    entries = list(ENTRY.iter_unpack(bench.disk.read_file(FIRST_INDEX)))
    moved = [
        (entries[number + shift][0], position)
        for number, (_, position) in enumerate(entries)
        if 0 <= number + shift < len(entries)
    ]
    bench.disk.replace_file(FIRST_INDEX, b"".join(ENTRY.pack(*entry) for entry in moved))
    bench.start()
    raise_if_one_is_left_out(bench.log())


def test_positions_that_do_not_ascend_leave_none_out():
    bench = LogBench()
    fill(bench, bench.create(index_interval_bytes="1"), overlapping=True)
    bench.stop()
    entries = list(ENTRY.iter_unpack(bench.disk.read_file(FIRST_INDEX)))
    rotten = [(offset, position // 2 + 7) for offset, position in entries]
    bench.disk.replace_file(FIRST_INDEX, b"".join(ENTRY.pack(*entry) for entry in rotten))
    bench.start()
    raise_if_one_is_left_out(bench.log())


def test_an_entry_that_leads_into_a_batch_leaves_none_out():
    bench = LogBench()
    log = bench.create()
    for producer in range(3):
        fields = {"producer_id": producer, "producer_epoch": 0, "base_sequence": 0}
        bench.append(log, [bytes(5_000)], transactional=True, **fields)
    one = log.size_bytes // 3
    for producer in range(3):
        bench.append_marker(log, producer, abort=True)
    bench.stop()
    entries = dict(ENTRY.iter_unpack(bench.disk.read_file(FIRST_INDEX)))
    assert entries[1] == one
    entries[1] = one + 2_500  # zeros, which would be offset 0
    data = b"".join(ENTRY.pack(*entry) for entry in entries.items())
    bench.disk.replace_file(FIRST_INDEX, data)
    bench.start()
    log = bench.log()
    assert log.aborted_in(read(log, 0, 1), 0, 6)[:1] == [(0, 0)]
