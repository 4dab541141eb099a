"""Primitive types: written by us, read by us, and compared with known bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.model.errors import CorruptRecord
from headrace.records.wire import Reader, Writer


def test_writer_writes_the_bytes_that_the_protocol_names() -> None:
    writer = Writer().int16(-2).int32(1).boolean(True).string("hé").string(None)
    writer.compact_string("ab").compact_string(None).binary(b"z").compact_binary(b"")
    writer.array([1, 2], writer.int8).compact_array([7], writer.int16)
    writer.tagged_fields({5: b"xy", 0: b""})
    assert writer.to_bytes().hex(" ") == (
        "ff fe 00 00 00 01 01 00 03 68 c3 a9 ff ff"
        " 03 61 62 00 00 00 00 01 7a 01"
        " 00 00 00 02 01 02 02 00 07"
        " 02 00 00 05 02 78 79"
    )


@given(
    st.integers(-(1 << 63), (1 << 63) - 1),
    st.text(max_size=30),
    st.none() | st.binary(max_size=300),
    st.lists(st.integers(0, (1 << 32) - 1), max_size=9),
    st.floats(allow_nan=False),
)
def test_values_round_trip(
    number: int, text: str, data: bytes | None, items: list[int], real: float
) -> None:
    writer = Writer()
    writer.int64(number).varlong(number).string(text).compact_string(text).binary(data)
    writer.compact_binary(data).array(items, writer.uvarint).compact_array(items, writer.uvarint)
    writer.float64(real).uuid(bytes(range(16))).varint(-1).tagged_fields()
    reader = Reader(writer.to_bytes())
    assert (reader.int64(), reader.varlong()) == (number, number)
    assert (reader.string(), reader.compact_string()) == (text, text)
    assert (reader.nullable_binary(), reader.compact_nullable_binary()) == (data, data)
    assert reader.array(reader.uvarint) == reader.compact_array(reader.uvarint) == items
    assert (reader.float64(), reader.uuid()) == (real, bytes(range(16)))
    assert (reader.varint(), reader.tagged_fields()) == (-1, {})
    reader.raise_if_remaining()


def test_nulls_round_trip_where_they_are_allowed() -> None:
    writer = Writer()
    writer.string(None).compact_string(None).binary(None).compact_binary(None)
    writer.array(None, writer.int8).compact_array(None, writer.int8)
    reader = Reader(writer.to_bytes())
    assert reader.nullable_string() is None
    assert reader.compact_nullable_string() is None
    assert reader.nullable_binary() is None
    assert reader.compact_nullable_binary() is None
    assert reader.nullable_array(reader.int8) is None
    assert reader.compact_nullable_array(reader.int8) is None


@pytest.mark.parametrize(
    ("data", "method"),
    [
        (b"\xff\xff", "string"),
        (b"\x00", "compact_string"),
        (b"\xff\xfe", "nullable_string"),
        (b"\x00\x09ab", "string"),
        (b"\x00\x01\xff", "string"),
        (b"\x00\x00\x00", "int32"),
        (b"\x7f\xff\xff\xff", "binary"),
        (b"\x09\x00\x01", "tagged_fields"),
        (b"abc", "uuid"),
        (b"\x80", "uvarlong"),
    ],
)
def test_bad_bytes_are_corrupt(data: bytes, method: str) -> None:
    with pytest.raises(CorruptRecord):
        getattr(Reader(data), method)()


def test_an_array_cannot_claim_more_items_than_bytes() -> None:
    reader = Reader(b"\x7f\xff\xff\xff")
    with pytest.raises(CorruptRecord, match="claims 2147483647 items"):
        reader.array(reader.int8)


def test_left_over_bytes_are_named() -> None:
    with pytest.raises(CorruptRecord, match="3 bytes are left"):
        Reader(b"abc").raise_if_remaining()
