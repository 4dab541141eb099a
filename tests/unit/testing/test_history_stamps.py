"""A record says who sent it, and whether it is still what was sent."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headrace.testing.history_stamps import STAMP_BYTES, Stamp, stamp_of, stamped

STAMPS = st.builds(Stamp, st.integers(0, 2**32 - 1), st.integers(0, 2**64 - 1))
KEYS = st.none() | st.binary(max_size=8)


@given(STAMPS, st.binary(max_size=50), KEYS)
def test_stamp_comes_back(stamp, body, key) -> None:
    value = stamped(stamp, body, key)
    assert stamp_of(value, key) == stamp
    assert value[STAMP_BYTES:] == body


@given(STAMPS, st.binary(max_size=50), st.data())
def test_any_changed_bit_shows(stamp, body, data) -> None:
    value = bytearray(stamped(stamp, body))
    position = data.draw(st.integers(0, len(value) - 1))
    value[position] ^= 1 << data.draw(st.integers(0, 7))
    assert stamp_of(bytes(value)) is None


def test_other_key_and_cut_value_show() -> None:
    value = stamped(Stamp(1, 2), b"body", b"key")
    assert stamp_of(value, b"kez") is None
    assert stamp_of(value) is None
    assert stamp_of(value[:-1], b"key") is None
    assert stamp_of(value[:10], b"key") is None
