"""The three indexes of a segment: bytes and look-up."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.storage.offset_index import OffsetIndex
from headrace.storage.open_files import OpenFiles
from headrace.storage.time_index import TimeIndex
from headrace.storage.transaction_index import (
    AbortedTransaction,
    TransactionIndex,
    aborted_between,
)
from headrace.testing.faulty_disk import FaultyDisk

ENTRIES = 2000


@pytest.fixture
def files() -> OpenFiles:
    return OpenFiles(FaultyDisk())


def offset_index(files: OpenFiles, *, is_new: bool = True) -> OffsetIndex:
    index = OffsetIndex(files.handle("x.index"), 1000)
    if is_new:
        index.start_empty()
        index.handle.creates = True
    return index


def test_offset_index_has_kafkas_bytes(files):
    index = offset_index(files)
    index.append(1005, 300)
    index.write_out()
    assert files.disk.read_file("x.index") == bytes.fromhex("00000005 0000012c")


@pytest.mark.parametrize("is_reopened", [False, True])
def test_offset_index_finds_the_entry_before(files, is_reopened):
    index = offset_index(files)
    for number in range(ENTRIES):
        index.append(1010 + number * 10, 100 + number * 7)
    if is_reopened:
        index.write_out()
        index = offset_index(files, is_new=False)
    assert index.count == ENTRIES
    assert index.position_before(1009) == 0
    for number in (0, 1, 511, 512, 1000, ENTRIES - 1):
        assert index.position_before(1010 + number * 10) == 100 + number * 7
        assert index.position_before(1019 + number * 10) == 100 + number * 7
    assert index.last() == (1010 + (ENTRIES - 1) * 10, 100 + (ENTRIES - 1) * 7)


def test_offset_index_forgets_from_an_offset_on(files):
    index = offset_index(files)
    for number in range(ENTRIES):
        index.append(1010 + number * 10, 100 + number * 7)
    index.truncate_to(1010 + 1500 * 10)
    assert index.count == 1500
    index.truncate_to(1010 + 3 * 10 + 1)
    assert index.count == 4
    index.append(99_000, 99_000)
    index.write_out()
    assert files.disk.size("x.index") == 5 * 8
    index.truncate_to(0)
    assert (index.count, index.last()) == (0, (1000, 0))


def test_offset_index_knows_its_faults(files):
    index = offset_index(files)
    index.append(1005, 300)
    index.append(1009, 700)
    assert index.fault(800) is None
    assert "byte 700 of 700" in (index.fault(700) or "")
    index.append(1009, 900)
    assert "ascend" in (index.fault(1000) or "")


def test_index_without_entries_is_an_empty_file(files):
    index = offset_index(files)
    index.write_out()
    assert files.disk.size("x.index") == 0
    assert index.position_before(5000) == 0


def test_time_index_takes_ascending_times_only(files):
    index = TimeIndex(files.handle("x.timeindex"), 1000)
    index.start_empty()
    index.handle.creates = True
    for timestamp, offset in ((50, 1003), (50, 1005), (40, 1007), (60, 1009)):
        index.maybe_append(timestamp, offset)
    index.write_out()
    assert files.disk.read_file("x.timeindex") == bytes.fromhex(
        "0000000000000032 00000003 000000000000003c 00000009"
    )
    assert index.last() == (60, 1009)
    assert [index.offset_before(t) for t in (10, 50, 51, 60, 61)] == [1000, 1000, 1003, 1003, 1009]
    assert index.fault() is None
    index.truncate_to(1009)
    assert index.last() == (50, 1003)


def test_time_index_knows_its_faults(files):
    files.disk.replace_file("x.timeindex", bytes.fromhex("00000000000000ff 00000003" * 2))
    assert "ascend" in (TimeIndex(files.handle("x.timeindex"), 0).fault() or "")


def test_transaction_index_has_kafkas_bytes(files):
    index = TransactionIndex(files.handle("x.txnindex"))
    assert index.entries == []
    assert not files.disk.exists("x.txnindex")
    first, second = AbortedTransaction(7, 10, 20, 21), AbortedTransaction(8, 15, 30, 31)
    index.append(first)
    index.append(second)
    data = files.disk.read_file("x.txnindex")
    assert len(data) == 2 * 34
    assert data[:34] == b"\x00\x00" + b"".join(n.to_bytes(8, "big") for n in (7, 10, 20, 21))
    assert TransactionIndex(files.handle("x.txnindex")).entries == [first, second]
    assert index.fault(31) is None
    assert "impossible" in (index.fault(30) or "")
    index.truncate_to(25)
    assert index.entries == [first]
    assert files.disk.size("x.txnindex") == 34


@given(
    st.lists(st.tuples(st.integers(1, 3), st.integers(1, 5)), max_size=40),
    st.integers(0, 150),
    st.integers(0, 60),
)
def test_all_aborted_transactions_that_touch_a_range_are_found(steps, offset, size):
    index = TransactionIndex(OpenFiles(FaultyDisk()).handle("x.txnindex"))
    position = 0
    for producer_id, (distance, length) in enumerate(steps):
        first = position + distance
        position = first + length
        index.append(AbortedTransaction(producer_id, first, position, position + 1))
    assert aborted_between([index], offset, offset + size) == [
        (entry.producer_id, entry.first_offset)
        for entry in index.entries
        if entry.first_offset < offset + size and entry.last_offset >= offset
    ]


def test_one_that_ends_inside_another_does_not_hide_it(files):
    index = TransactionIndex(files.handle("x.txnindex"))
    index.append(AbortedTransaction(1, first_offset=5, last_offset=8, last_stable_offset=2))
    index.append(AbortedTransaction(2, first_offset=2, last_offset=9, last_stable_offset=10))
    assert aborted_between([index], 3, 7) == [(2, 2), (1, 5)]
    assert aborted_between([index], 9, 10) == [(2, 2)]
