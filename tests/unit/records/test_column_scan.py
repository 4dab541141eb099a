"""Headers read at once are those read one by one; whatever is unusual is left to the long way."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.records.build import build_batch
from headrace.records.column_arrays import read_only
from headrace.records.column_scan import ScannedBatch, scanned_batches
from headrace.records.columns import ColumnDecoder
from headrace.records.compression import Compression
from headrace.records.header import HEADER, HEADER_SIZE, batches, read_header, stamp, stamp_crc
from headrace.records.record import Record

ENDLESS = 2**62
FIELDS = {name: index for index, name in enumerate(read_header(bytes(HEADER_SIZE))._fields)}


def log_of(*base_offsets: int, codec: Compression = Compression.NONE) -> bytearray:
    """A batch of two records at each offset."""
    log = bytearray()
    for base_offset in base_offsets:
        batch = bytearray(build_batch([(b"k", b"v"), (None, b"w" * 300)], compression=codec))
        stamp(batch, 0, base_offset, 0)
        log += batch
    return log


def scan(log: bytes | bytearray, lowest_offset: int = 0, end: int = ENDLESS):
    return scanned_batches(read_only(memoryview(log)), lowest_offset, end)


def with_field(log: bytearray, number: int, name: str, value: int) -> bytearray:
    """The checksum of that batch is made right again, where there is still room for it."""
    position, header = list(batches(log))[number]
    fields = [*header]
    fields[FIELDS[name]] = value
    HEADER.pack_into(log, position, *fields)
    if name not in ("batch_length", "magic"):
        stamp_crc(log, position, header.size_bytes)
    return log


@given(
    base_offsets=st.lists(st.integers(0, 2**40), min_size=1, max_size=8, unique=True),
    codec=st.sampled_from(Compression),
)
def test_all_headers_are_those_that_are_read_one_by_one(
    base_offsets: list[int], codec: Compression
):
    log = log_of(*(2 * offset for offset in sorted(base_offsets)), codec=codec)
    assert scan(log) == [
        ScannedBatch(
            position,
            position + header.size_bytes,
            header.attributes,
            header.crc,
            header.last_offset,
            [
                position + HEADER_SIZE,
                position + header.size_bytes,
                header.base_offset,
                header.last_offset_delta,
                header.record_count,
                header.base_timestamp,
                header.max_timestamp,
                int(header.is_log_append_time),
            ],
        )
        for position, header in batches(log)
    ]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("magic", 1),
        ("batch_length", 48),
        ("batch_length", -1),
        ("batch_length", 2**31 - 1),
        ("last_offset_delta", -1),
        ("record_count", -1),
        ("base_offset", 1),
        ("base_offset", -(2**63)),
        ("base_offset", 2**63 - 1),
        ("base_offset", 15),
    ],
)
def test_what_is_unusual_is_left_to_others(field: str, value: int):
    log = log_of(0, 10, 14)
    assert scan(log) is not None
    assert scan(with_field(log, 1, field, value)) is None


def test_a_run_that_begins_or_ends_elsewhere_is_left_to_others():
    log = log_of(4, 6)
    assert scan(log, lowest_offset=4, end=7) is not None
    assert scan(log, lowest_offset=5) is None
    assert scan(log, end=6) is None
    assert all(scan(log[:-cut]) is None for cut in range(1, len(log) // 2))
    assert scan(b"") == []


ROWS = st.lists(
    st.tuples(st.none() | st.binary(max_size=40), st.none() | st.binary(max_size=200)),
    min_size=1,
    max_size=20,
)


@given(
    contents=st.lists(st.tuples(st.sampled_from(Compression), ROWS), min_size=1, max_size=6),
    start=st.integers(0, 60),
    end=st.integers(1, 120),
    flipped=st.none() | st.integers(0, 2**16),
)
def test_the_short_way_and_the_long_way_agree(
    contents: list[tuple[Compression, list[tuple[bytes | None, bytes | None]]]],
    start: int,
    end: int,
    flipped: int | None,
):
    log, next_offset = bytearray(), 0
    for codec, rows in contents:
        batch = bytearray(build_batch(rows, compression=codec))
        stamp(batch, 0, next_offset, 0)
        next_offset += len(rows)
        log += batch
    if flipped is not None:
        log[flipped % len(log)] ^= 1 << flipped % 8
    decoder = ColumnDecoder()
    nobody = type("Aborted", (), {"producer_id": -2, "first_offset": 0, "last_offset": 0})()
    short = decoder.decode(log, start=start, end=end)
    long = decoder.decode(log, start=start, end=end, aborted=[nobody])
    assert short == long
    short.batch.validate(full=True)


def test_what_was_unpacked_before_a_fault_does_not_come_again():
    """The short way gives up in the middle, with records of it in the memory that is kept."""
    packed = log_of(0, codec=Compression.LZ4)
    good = log_of(2)
    bad = with_field(log_of(4), 0, "record_count", 3)
    columns = ColumnDecoder().decode(packed + good + bad, start=0, end=ENDLESS)
    assert columns.batch.column("offset").to_pylist() == [0, 1, 2, 3]
    assert [one.base_offset for one in columns.bad] == [4]
    again = ColumnDecoder().decode(good, start=0, end=ENDLESS)
    assert again.batch.column("value").to_pylist() == [b"v", b"w" * 300]


def test_positions_of_the_header_are_those_of_its_layout():
    """The scan reads fields where constants say, not through the layout."""
    record = Record(0, 5, b"k", b"v")
    log = bytearray(build_batch([record], compression=Compression.NONE))
    struct.pack_into(">q", log, 35, 77)
    stamp_crc(log, 0, len(log))
    found = scan(log)
    assert found is not None
    assert found[0].records[5:7] == [5, 77]
