"""Room for a run, judged by the run before it, and never by what a header claims."""

from __future__ import annotations

import pytest

from headrace.records import column_arrays
from headrace.records.build import build_batch
from headrace.records.column_room import (
    SPARE_BYTES,
    SPARE_ROWS,
    UNKNOWN_DENSITY,
    Density,
    Room,
)
from headrace.records.columns import HAS_NUMBA, ColumnDecoder
from headrace.records.compression import Compression
from headrace.records.record import Record

MEBIBYTE = 1024 * 1024


def test_without_a_run_before_it_columns_get_as_much_as_the_run_has_bytes():
    assert UNKNOWN_DENSITY.room_for(1_000, MEBIBYTE) == Room(0, 1_000, 1_000)
    assert UNKNOWN_DENSITY.room_for(2 * MEBIBYTE, MEBIBYTE) == Room(0, MEBIBYTE, MEBIBYTE)


def test_a_run_gets_what_one_of_its_size_would_have_held_and_some_more():
    room = Density(1_000, Room(80, 160, 8_000)).room_for(2_000, MEBIBYTE)
    assert room == Room(180 + SPARE_ROWS, 360 + SPARE_BYTES, 18_000 + SPARE_BYTES)


def test_however_dense_a_run_was_the_room_stays_within_the_limit():
    room = Density(10, Room(10**9, 10**9, 10**9)).room_for(10**6, MEBIBYTE)
    assert room.key_bytes == room.value_bytes == MEBIBYTE + MEBIBYTE // 8 + SPARE_BYTES
    assert room.rows == MEBIBYTE // 8 + MEBIBYTE // 64 + SPARE_ROWS


@pytest.mark.skipif(not HAS_NUMBA, reason="numba is not installed")
def test_columns_of_a_second_run_do_not_grow(monkeypatch: pytest.MonkeyPatch):
    records = [Record(number, 1_000, b"key", b"value" * 40) for number in range(20_000)]
    run = build_batch(records, compression=Compression.LZ4)
    decoder = ColumnDecoder()
    first = decoder.decode(run, start=0, end=20_000)
    grown = []
    original = column_arrays._grown

    def watched(array, used, more):
        result = original(array, used, more)
        if result is not array and used > 1:
            grown.append((used, more))
        return result

    monkeypatch.setattr(column_arrays, "_grown", watched)
    second = decoder.decode(run, start=0, end=20_000)
    assert second.batch.equals(first.batch)
    assert grown == []
