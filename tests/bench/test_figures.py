"""Bars and directions."""

from __future__ import annotations

import pytest

from bench.figures import Figure


@pytest.mark.parametrize(
    ("better", "bar", "ratio", "meets"),
    [
        ("higher", 1.3, 1.3, True),
        ("higher", 1.3, 1.29, False),
        ("lower", 0.5, 0.5, True),
        ("lower", 0.5, 0.51, False),
        ("lower", None, 99.0, None),
    ],
)
def test_a_bar_is_met_from_its_own_side(better, bar, ratio, meets):
    assert Figure("f", "u", better, bar).meets_bar(ratio) is meets


def test_advantage_is_above_one_whenever_headrace_is_better():
    assert Figure("rate", "records/s", "higher").advantage(4.0) == 4.0
    assert Figure("p50", "ms", "lower").advantage(0.25) == 4.0
