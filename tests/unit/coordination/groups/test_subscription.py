"""Topics are read from a consumer's subscription; anything else is no answer, not an error."""

from __future__ import annotations

import pytest

from headrace.coordination.groups.subscription import maybe_subscribed_topics


def encoded(version: int, topics: list[str]) -> bytes:
    head = version.to_bytes(2, "big") + len(topics).to_bytes(4, "big")
    names = b"".join(len(name.encode()).to_bytes(2, "big") + name.encode() for name in topics)
    return head + names


@pytest.mark.parametrize("version", [0, 1, 2, 3, 99])
def test_topics_are_read_from_any_version(version: int) -> None:
    data = encoded(version, ["a", "später"]) + b"user data and whatever comes later"
    assert maybe_subscribed_topics(data) == {"a", "später"}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00",
        b"connect worker url",
        encoded(0, ["a"])[:-1],
        b"\x00\x00\x7f\xff\xff\xff",
        b"\xff\xff\x00\x00\x00\x00",
        b"\x00\x00\x00\x00\x00\x01\xff\xff",
        b"\x00\x00\x00\x00\x00\x01\x00\x01\xff",
    ],
)
def test_what_is_no_subscription_has_no_topics(data: bytes) -> None:
    assert maybe_subscribed_topics(data) is None


def test_subscription_to_nothing_is_an_answer() -> None:
    assert maybe_subscribed_topics(encoded(0, [])) == frozenset()
