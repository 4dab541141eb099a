"""Confluent's prefix."""

from __future__ import annotations

import pytest

from headrace.pipeline.decoding.wire_format import group_by_schema, message_indexes, only_schema

from .values import binary


def framed(schema_id: int, rest: bytes = b"") -> bytes:
    return b"\0" + schema_id.to_bytes(4) + rest


def test_groups_and_what_has_no_prefix() -> None:
    groups, unframed = group_by_schema(
        binary(framed(7, b"a"), None, b"\0\0", framed(2**32 - 1), framed(7), b"{12345}", b"")
    )
    assert [(group.schema_id, group.indices) for group in groups] == [(7, [0, 4]), (2**32 - 1, [3])]
    assert [(one.index, one.reason) for one in unframed] == [
        (2, "2 bytes are too short for a schema id"),
        (5, "the first byte is 123, not 0: there is no schema id"),
        (6, "0 bytes are too short for a schema id"),
    ]


def test_one_schema_for_all_is_seen_at_once() -> None:
    values = binary(b"", framed(7, b"a"), framed(7), framed(8))
    assert only_schema(values[1:3]) == 7
    for other in (values, values[1:], binary(framed(7), None), binary(), binary(b"{12345}")):
        assert only_schema(other) is None


@pytest.mark.parametrize(
    ("rest", "indexes", "body"),
    [
        (b"\0body", (0,), b"body"),
        (b"\x02\x04body", (2,), b"body"),
        (b"\x04\x02\x00body", (1, 0), b"body"),
        (b"\x02\x80\x01", (64,), b""),
    ],
)
def test_message_indexes(rest: bytes, indexes: tuple[int, ...], body: bytes) -> None:
    payload = framed(1, rest)
    found, position = message_indexes(payload)
    assert found == indexes
    assert payload[position:] == body


@pytest.mark.parametrize(
    "rest", [b"", b"\x02", b"\x01", b"\xff\xff\xff\xff\xff\x01", b"\x82\x01\x00"]
)
def test_broken_indexes(rest: bytes) -> None:
    with pytest.raises(ValueError, match=r"index|deep"):
        message_indexes(framed(1, rest))
