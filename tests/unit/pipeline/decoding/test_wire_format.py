"""Confluent's prefix."""

from __future__ import annotations

import pytest

from headrace.pipeline.decoding.wire_format import (
    group_by_message,
    group_by_schema,
    message_indexes,
    without_prefix,
)

from .values import binary


def framed(schema_id: int, rest: bytes = b"") -> bytes:
    return b"\0" + schema_id.to_bytes(4) + rest


def test_groups_and_what_has_no_prefix() -> None:
    groups, bad = group_by_schema(
        binary(framed(7, b"a"), None, b"\0\0", framed(2**32 - 1), framed(7), b"{12345}", b"")
    )
    assert [(group.schema_id, group.indices.tolist()) for group in groups] == [
        (7, [0, 4]),
        (2**32 - 1, [3]),
    ]
    assert {one.index: one.reason for one in bad} == {
        2: "2 bytes are too short for a schema id",
        5: "the first byte is 123, not 0: there is no schema id",
        6: "0 bytes are too short for a schema id",
    }


def test_one_schema_for_all_and_parts_of_arrays() -> None:
    values = binary(b"", framed(7, b"a"), framed(7), framed(8))
    (group,), bad = group_by_schema(values[1:3])
    assert (group.schema_id, group.indices.tolist(), bad) == (7, [0, 1], [])
    assert without_prefix(values[1:3]).to_pylist() == [b"a", b""]
    assert group_by_schema(binary()) == ([], [])
    assert group_by_schema(binary(None)) == ([], [])


@pytest.mark.parametrize("others", [(), (framed(1, b"\x02\x04c"), framed(1))])
def test_messages_of_a_file(others: tuple[bytes, ...]) -> None:
    values = binary(b"", framed(1, b"\0a"), framed(1, b"\0"), framed(1, b"\0b"), *others)
    groups, bad = group_by_message(values[1:])
    found = {one.message: (one.indices.tolist(), one.bodies.to_pylist()) for one in groups}
    assert found[0,] == ([0, 1, 2], [b"a", b"", b"b"])
    assert found.get((2,)) == (([3], [b"c"]) if others else None)
    assert [one.index for one in bad] == ([4] if others else [])


def test_the_first_message_can_be_told_in_two_ways() -> None:
    (group,), _ = group_by_message(binary(framed(1, b"\0a"), framed(1, b"\x02\x00b")))
    assert group.message == (0,)
    assert group.bodies.to_pylist() == [b"a", b"b"]


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
