"""Percentiles by nearest rank."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.percentiles import percentile, percentiles

VALUES = st.lists(st.floats(0, 1e9), min_size=1, max_size=300)


def test_percentiles_of_a_thousand_values_are_the_values_at_these_ranks():
    shuffled = [float((number * 7) % 1_000 + 1) for number in range(1_000)]
    assert percentiles(shuffled) == {"p50": 500.0, "p99": 990.0, "p99.9": 999.0}


def test_one_value_is_all_percentiles():
    assert set(percentiles([3.5]).values()) == {3.5}


def test_no_values_is_an_error():
    with pytest.raises(ValueError, match="nothing was measured"):
        percentiles([])


@given(VALUES, st.floats(0.001, 1))
def test_enough_values_are_not_above_a_percentile(values, quantile):
    found = percentile(sorted(values), quantile)
    assert found in values
    assert sum(value <= found for value in values) >= quantile * len(values) * (1 - 1e-9)
