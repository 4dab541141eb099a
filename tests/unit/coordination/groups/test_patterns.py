from __future__ import annotations

import pytest

from headrace.coordination.groups.patterns import (
    PATTERN_BYTES_MAX,
    matching_topics,
    raise_if_invalid_pattern,
)
from headrace.model.errors import InvalidRegularExpression

NAMES = ["orders", "orders.eu", "old-orders", "payments"]


def test_pattern_matches_whole_names_only() -> None:
    assert matching_topics("orders", NAMES) == {"orders"}
    assert matching_topics("orders.*", NAMES) == {"orders", "orders.eu"}
    assert matching_topics(".*orders", NAMES) == {"orders", "old-orders"}
    assert matching_topics("orders|payments", NAMES) == {"orders", "payments"}
    assert matching_topics("nothing", NAMES) == frozenset()


@pytest.mark.parametrize(
    "pattern",
    [
        "(",
        "*a",
        "[a",
        "(a)\\1",  # back reference: not in RE2
        "(?=a)b",  # look-ahead: not in RE2
        "((a{100}){100}){100}",
        "a" * (PATTERN_BYTES_MAX + 1),
    ],
)
def test_pattern_that_cannot_be_matched_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidRegularExpression):
        raise_if_invalid_pattern(pattern)


def test_refusal_says_what_is_wrong() -> None:
    with pytest.raises(InvalidRegularExpression, match=r"missing \)"):
        raise_if_invalid_pattern("(a")


def test_pattern_that_makes_backtracking_engines_hang_is_matched_in_linear_time() -> None:
    assert matching_topics("(a*)*b", ["a" * 249]) == frozenset()
