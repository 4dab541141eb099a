"""Every offset of a run is covered or parked, whatever one wrong header claims."""

from __future__ import annotations

import struct

import pytest

from headrace.records.build import build_batch
from headrace.records.columns import ColumnDecoder

SIZE = 10
COUNT = 6
BATCHES = [
    bytes(build_batch([(None, b"v")] * SIZE, base_offset=number * SIZE, timestamp_ms=1))
    for number in range(COUNT)
]
END = SIZE * COUNT


def decode(data, *, start=0, end=END, lowest_offset=0, **settings):
    return ColumnDecoder(["offset"], is_compiled=False, **settings).decode(
        data, start=start, end=end, lowest_offset=lowest_offset
    )


def offsets_of(columns):
    return columns.batch.column("offset").to_pylist()


def all_but(number):
    return [offset for offset in range(END) if offset // SIZE != number]


def run_with(number, batch):
    return b"".join([*BATCHES[:number], bytes(batch), *BATCHES[number + 1 :]])


def test_a_sound_run_is_covered():
    columns = decode(b"".join(BATCHES), start=5, end=45)
    assert offsets_of(columns) == list(range(5, 45))
    assert (columns.bad, columns.next_offset) == ([], 45)


@pytest.mark.parametrize("number", range(COUNT))
def test_a_wrong_checksum_parks_one_batch(number):
    data = run_with(number, BATCHES[number][:-1] + b"!")
    columns = decode(data)
    assert offsets_of(columns) == all_but(number)
    (bad,) = columns.bad
    assert (bad.base_offset, bad.last_offset) == (number * SIZE, number * SIZE + SIZE - 1)
    assert bad.reason == "the checksum of the batch is wrong"
    assert bad.data == BATCHES[number][:-1] + b"!"
    assert columns.next_offset == END


@pytest.mark.parametrize("claimed", [0, 3, 500, -1])
def test_a_wrong_last_offset_does_not_hide_the_batch(claimed):
    """The checksum tells that it is wrong, and the next batch where the batch really ends."""
    damaged = bytearray(BATCHES[2])
    struct.pack_into(">i", damaged, 23, claimed)
    columns = decode(run_with(2, damaged), start=25)
    assert offsets_of(columns) == list(range(30, END))
    assert [(bad.base_offset, bad.last_offset) for bad in columns.bad] == [(20, 29)]


@pytest.mark.parametrize("claimed", [0, 15, 19, 1000, 2**62, 2**63 - 1, -1, -(2**63)])
@pytest.mark.parametrize("number", [2, 3])
def test_a_wrong_base_offset_parks_one_batch(number, claimed):
    """It lies outside of the checksum: only the neighbours show that it is wrong."""
    damaged = struct.pack(">q", claimed) + BATCHES[number][8:]
    columns = decode(run_with(number, damaged))
    assert offsets_of(columns) == all_but(number)
    (bad,) = columns.bad
    assert (bad.base_offset, bad.last_offset) == (number * SIZE, number * SIZE + SIZE - 1)
    assert "neighbours" in bad.reason
    assert columns.next_offset == END


def test_a_wrong_base_offset_in_front_parks_one_batch():
    damaged = struct.pack(">q", 1000) + BATCHES[0][8:]
    columns = decode(run_with(0, damaged))
    assert offsets_of(columns) == all_but(0)
    assert [(bad.base_offset, bad.last_offset) for bad in columns.bad] == [(0, 9)]


@pytest.mark.parametrize("claimed", [50, 1000])
def test_a_wrong_base_offset_before_the_last_batch_parks_one_batch(claimed):
    """Two batches are all that is in sight: the one fits between the other and what was seen."""
    damaged = struct.pack(">q", claimed) + BATCHES[3][8:]
    columns = decode(b"".join([BATCHES[2], damaged, BATCHES[4]]), start=20, end=50)
    assert offsets_of(columns) == [*range(20, 30), *range(40, 50)]
    assert [(bad.base_offset, bad.last_offset) for bad in columns.bad] == [(30, 39)]


def test_a_first_batch_that_lies_too_low_is_not_taken_for_an_old_one():
    damaged = struct.pack(">q", 0) + BATCHES[2][8:]
    columns = decode(b"".join([damaged, *BATCHES[3:]]), start=25, lowest_offset=20)
    assert offsets_of(columns) == list(range(30, END))
    assert [(bad.base_offset, bad.last_offset) for bad in columns.bad] == [(25, 29)]


def test_a_second_batch_from_the_past_does_not_discredit_the_first():
    damaged = struct.pack(">q", 0) + BATCHES[3][8:]
    columns = decode(b"".join([BATCHES[2], damaged, *BATCHES[4:]]), start=20)
    assert offsets_of(columns) == [*range(20, 30), *range(40, END)]
    assert [(bad.base_offset, bad.last_offset) for bad in columns.bad] == [(30, 39)]


@pytest.mark.parametrize(
    ("tail", "reason"),
    [
        (BATCHES[2][:-1], "are there"),
        (BATCHES[2][:60], "a batch header takes"),
        (b"x", "a batch header takes"),
        (bytes(4096), "claims a length of 0"),
        (BATCHES[2][:16] + b"\x01" + BATCHES[2][17:], "has magic 1"),
        (BATCHES[2][:8] + b"\x7f\xff\xff\xff" + BATCHES[2][12:], "are there"),
        (BATCHES[2][:8] + b"\xff\xff\xff\xff" + BATCHES[2][12:], "claims a length of -1"),
    ],
)
def test_lost_framing_parks_the_rest(tail, reason):
    columns = decode(BATCHES[0] + BATCHES[1] + tail)
    assert offsets_of(columns) == list(range(20))
    (bad,) = columns.bad
    assert bad.reason.startswith("framing: ")
    assert reason in bad.reason
    assert (bad.base_offset, bad.data) == (20, tail)
    assert (columns.next_offset, columns.next_position) == (21, 2 * len(BATCHES[0]) + len(tail))


def test_the_rest_that_is_parked_is_bounded():
    columns = decode(b"x" * 5000, batch_bytes_max=100)
    assert [len(bad.data) for bad in columns.bad] == [100]


def test_bad_batches_outside_of_what_is_asked_for_are_not_reported():
    damaged = b"".join([BATCHES[0][:-1] + b"!", *BATCHES[1:4], BATCHES[4][:-1] + b"!"])
    columns = decode(damaged, start=10, end=40)
    assert offsets_of(columns) == list(range(10, 40))
    assert (columns.bad, columns.next_offset) == ([], 40)


def test_a_checksum_may_be_left_to_the_caller():
    data = run_with(1, BATCHES[1][:17] + b"!!!!" + BATCHES[1][21:])
    assert offsets_of(decode(data, check_crc=False)) == list(range(END))


def test_a_last_batch_of_impossible_offsets_is_not_passed_over():
    damaged = struct.pack(">q", 2**63 - 1) + BATCHES[-1][8:]
    columns = decode(run_with(COUNT - 1, damaged))
    assert offsets_of(columns) == all_but(COUNT - 1)
    assert [(bad.base_offset, bad.data) for bad in columns.bad] == [(END - SIZE, damaged)]
    assert columns.next_offset == END - SIZE + 1
