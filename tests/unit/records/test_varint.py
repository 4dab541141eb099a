"""Variable-length integers against their definition and against kafka-python."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.util import decode_varint, encode_varint

from headrace.model.errors import CorruptRecord
from headrace.records.varint import (
    append_uvarint,
    append_varint,
    read_uvarint,
    read_varint,
    read_varlong,
)


@given(st.integers(-(1 << 63), (1 << 63) - 1))
def test_varlong_round_trips_and_equals_kafka_python(value: int) -> None:
    ours = bytearray(b"xx")
    append_varint(ours, value)
    theirs = bytearray()
    encode_varint(value, theirs.append)
    assert ours[2:] == theirs
    assert read_varlong(ours, 2) == (value, len(ours))
    assert decode_varint(ours, 2) == (value, len(ours))


@given(st.integers(-(1 << 31), (1 << 31) - 1))
def test_varint_round_trips(value: int) -> None:
    data = bytearray()
    append_varint(data, value)
    assert len(data) <= 5
    assert read_varint(data, 0) == (value, len(data))


@given(st.integers(0, (1 << 32) - 1))
def test_uvarint_round_trips(value: int) -> None:
    data = bytearray()
    append_uvarint(data, value)
    assert read_uvarint(data, 0) == (value, len(data))


def test_reading_raises_when_a_varint_is_cut_off_or_too_long() -> None:
    with pytest.raises(CorruptRecord, match="cut off"):
        read_uvarint(b"\x80\x80", 0)
    with pytest.raises(CorruptRecord, match="cut off"):
        read_varint(b"", 0)
    with pytest.raises(CorruptRecord, match="longer than 5"):
        read_varint(b"\x80" * 6, 0)
    with pytest.raises(CorruptRecord, match="longer than 10"):
        read_varlong(b"\x80" * 11, 0)
