"""Failures that are told, and those that are only counted."""

from __future__ import annotations

from headrace.frontends.common.warning_limit import INTERVAL_SECONDS, KINDS_MAX, WarningLimit


def test_first_is_told_and_then_one_in_a_while() -> None:
    limit = WarningLimit()
    assert limit.maybe_count("a", 0.0) == 0
    assert [limit.maybe_count("a", second) for second in (0.0, 1.0, 9.9)] == [None] * 3
    assert limit.maybe_count("a", INTERVAL_SECONDS) == 3
    assert limit.maybe_count("a", 2 * INTERVAL_SECONDS) == 0


def test_kinds_do_not_hide_each_other() -> None:
    limit = WarningLimit()
    assert limit.maybe_count("a", 0.0) == 0
    assert limit.maybe_count("b", 0.0) == 0


def test_number_of_kinds_is_limited() -> None:
    limit = WarningLimit()
    for number in range(KINDS_MAX + 10):
        assert limit.maybe_count(str(number), 0.0) == 0
    assert len(limit._told) == KINDS_MAX
    assert limit.maybe_count("0", 0.0) == 0, "the oldest was forgotten"
