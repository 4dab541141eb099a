"""Variable-length integers and tagged fields."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.codecs.kafka import wire
from headrace.codecs.kafka.errors import MalformedMessage


@given(st.integers(0, wire.UVARINT_MAX))
def test_uvarint_round_trip(value: int) -> None:
    encoded = wire.encode_uvarint(value)
    assert wire.read_uvarint(b"\xff" + encoded, 1) == (value, len(encoded) + 1)
    assert len(encoded) == max(1, -(-value.bit_length() // 7))


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (0, "00"),
        (127, "7f"),
        (128, "8001"),
        (16383, "ff7f"),
        (16384, "808001"),
        (2097151, "ffff7f"),
        (2097152, "80808001"),
        (wire.UVARINT_MAX, "ffffffff0f"),
    ],
)
def test_uvarint_known_values(value: int, encoded: str) -> None:
    assert wire.encode_uvarint(value) == bytes.fromhex(encoded)
    assert wire.read_uvarint(bytes.fromhex(encoded), 0)[0] == value


@pytest.mark.parametrize("encoded", ["ffffffff10", "ffffffff7f", "808080808001", "ffffffffff"])
def test_uvarint_beyond_32_bits_is_refused(encoded: str) -> None:
    with pytest.raises(MalformedMessage):
        wire.read_uvarint(bytes.fromhex(encoded), 0)


@pytest.mark.parametrize("encoded", ["", "80", "8080", "80808080"])
def test_truncated_uvarint_raises_a_decoding_error(encoded: str) -> None:
    with pytest.raises(wire.DECODING_ERRORS):
        wire.read_uvarint(bytes.fromhex(encoded), 0)


@given(st.lists(st.tuples(st.integers(0, 300), st.binary(max_size=200)), max_size=140))
def test_skipping_tagged_fields_ends_behind_them(fields: list[tuple[int, bytes]]) -> None:
    encoded = wire.encode_tagged_fields([wire.encode_tag(tag, value) for tag, value in fields])
    assert wire.skip_tagged_fields(encoded + b"rest", 1, encoded[0]) == len(encoded)


def test_more_tags_than_bytes_are_refused() -> None:
    with pytest.raises(MalformedMessage, match="more tagged fields"):
        wire.skip_tagged_fields(b"\xff\xff\xff\xff\x0f\x00\x00", 1, 0xFF)


def test_tag_larger_than_the_buffer_is_refused() -> None:
    with pytest.raises(MalformedMessage, match="larger"):
        wire.skip_tagged_fields(b"\x01\x00\x05abc", 1, 1)
