"""Points in time, as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.cli.exit_codes import Failure
from headrace.cli.times import format_time_ms, parse_time_ms

NOW_MS = 1_800_000_000_000


@pytest.mark.parametrize(
    ("text", "expected_ms"),
    [
        ("-15m", NOW_MS - 900_000),
        ("-2d", NOW_MS - 172_800_000),
        ("-500ms", NOW_MS - 500),
        ("1700000000", 1_700_000_000_000),
        ("1700000000123", 1_700_000_000_123),
        ("2023-11-14T22:13:20Z", 1_700_000_000_000),
        ("2023-11-14T22:13:20", 1_700_000_000_000),
        ("2023-11-14T23:13:20+01:00", 1_700_000_000_000),
        ("1970-01-02", 86_400_000),
    ],
)
def test_time_is_understood(text: str, expected_ms: int) -> None:
    assert parse_time_ms(text, NOW_MS) == expected_ms


@pytest.mark.parametrize("text", ["", "yesterday", "-15", "-15w", "2023-13-01", "9" * 30])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(Failure, match="expected a time such as"):
        parse_time_ms(text, NOW_MS)


@given(st.integers(100_000_000_000, 4_000_000_000_000))
def test_formatted_times_can_be_read_back(timestamp_ms: int) -> None:
    text = format_time_ms(timestamp_ms)
    assert text is not None
    assert parse_time_ms(text, NOW_MS) == timestamp_ms


def test_missing_timestamp_is_none() -> None:
    assert format_time_ms(-1) is None
