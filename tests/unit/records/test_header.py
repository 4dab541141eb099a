"""The batch header: stamps keep the checksum right, walks stop where they must."""

from __future__ import annotations

import struct

import pytest

from headrace.model.errors import CorruptRecord
from headrace.records.build import build_batch
from headrace.records.header import (
    DELETE_HORIZON,
    HEADER,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    NO_SEQUENCE,
    batches,
    crc_is_valid,
    read_header,
    stamp,
    stamp_log_append_time,
)


def test_header_struct_takes_sixty_one_bytes() -> None:
    assert HEADER.size == HEADER_SIZE == 61


def test_read_header_returns_what_build_wrote() -> None:
    batch = build_batch(
        [(b"k", b"v"), (b"k", None)],
        base_offset=7,
        timestamp_ms=99,
        producer_id=5,
        producer_epoch=2,
        base_sequence=10,
        transactional=True,
        leader_epoch=3,
    )
    header = read_header(batch)
    assert header.base_offset == 7
    assert header.last_offset == 8
    assert header.leader_epoch == 3
    assert header.size_bytes == len(batch)
    assert (header.base_timestamp, header.max_timestamp) == (99, 99)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (5, 2, 10)
    assert header.last_sequence == 11
    assert header.is_transactional
    assert header.has_producer
    assert not header.is_control
    assert not header.is_log_append_time
    assert header.delete_horizon_ms is None


def test_read_header_raises_when_bytes_are_missing() -> None:
    with pytest.raises(CorruptRecord, match="60 are left"):
        read_header(bytes(60))


def test_last_sequence_wraps_around_and_stays_none_without_sequence() -> None:
    header = read_header(build_batch([(None, b"v")] * 3))
    assert header.last_sequence == NO_SEQUENCE
    assert header._replace(base_sequence=(1 << 31) - 2).last_sequence == 0


def test_stamp_keeps_the_checksum_valid() -> None:
    batch = bytearray(5) + build_batch([(b"k", b"v")])
    stamp(batch, 5, base_offset=1 << 40, leader_epoch=9)
    header = read_header(batch, 5)
    assert (header.base_offset, header.leader_epoch) == (1 << 40, 9)
    assert crc_is_valid(batch, 5, header.size_bytes)


def test_stamp_log_append_time_sets_bit_timestamp_and_checksum() -> None:
    batch = bytearray(3) + build_batch([(b"k", b"v")], timestamp_ms=1)
    before = bytes(batch)
    stamp_log_append_time(batch, 3, now_ms=123456)
    header = read_header(batch, 3)
    assert header.attributes & LOG_APPEND_TIME
    assert header.max_timestamp == 123456
    assert header.base_timestamp == 1
    assert header.crc != read_header(before, 3).crc
    assert crc_is_valid(memoryview(batch), 3, header.size_bytes)


def test_crc_is_invalid_for_flipped_missing_or_too_few_bytes() -> None:
    batch = build_batch([(b"k", b"v")])
    assert crc_is_valid(batch, 0, len(batch))
    assert not crc_is_valid(batch[:-1], 0, len(batch))
    assert not crc_is_valid(batch, 0, 20)
    batch[-1] ^= 1
    assert not crc_is_valid(batch, 0, len(batch))


def test_batches_walks_whole_batches_and_stops_at_a_partial_tail() -> None:
    first = build_batch([(b"a", b"1")])
    second = build_batch([(b"b", b"2")] * 4, base_offset=1)
    data = bytes(first + second)
    whole = [(position, header.base_offset) for position, header in batches(data)]
    assert whole == [(0, 0), (len(first), 1)]
    assert [position for position, _ in batches(data, len(first))] == [len(first)]
    for cut in range(len(second)):
        assert [position for position, _ in batches(data[: len(first) + cut])] == [0]


@pytest.mark.parametrize(("position", "bad"), [(8, struct.pack(">i", 48)), (16, b"\x01")])
def test_batches_raises_on_an_impossible_length_or_magic(position: int, bad: bytes) -> None:
    data = build_batch([(b"a", b"1")])
    data[position : position + len(bad)] = bad
    with pytest.raises(CorruptRecord):
        list(batches(data))


def test_delete_horizon_is_the_base_timestamp_when_its_bit_is_set() -> None:
    header = read_header(build_batch([(b"k", None)], timestamp_ms=5, delete_horizon_ms=77))
    assert header.attributes & DELETE_HORIZON
    assert header.delete_horizon_ms == 77
