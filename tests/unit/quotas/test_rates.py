"""How fast somebody is, and how long it must wait."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headrace.quotas.rates import Rate


def test_rate_is_over_at_least_ten_seconds():
    rate = Rate()
    rate.record(1_000, 0)
    assert rate.per_second(0) == 100
    assert rate.per_second(5_000) == 100


def test_nothing_is_owed_within_the_quota():
    rate = Rate()
    rate.record(1_000, 0)
    assert rate.throttle_ms(100, 0) == 0


def test_who_took_twice_as_much_waits_as_long_again():
    rate = Rate()
    rate.record(2_000, 0)
    assert rate.throttle_ms(100, 0) == 10_000


def test_old_amounts_are_forgotten():
    rate = Rate()
    rate.record(2_000, 0)
    assert rate.per_second(11_000) == 0
    assert rate.is_idle


@given(st.lists(st.tuples(st.integers(0, 3_000), st.integers(1, 10_000)), min_size=1, max_size=40))
def test_who_waits_as_told_never_exceeds_the_quota_for_long(steps):
    """A client that obeys gets the quota on average, whatever the sizes of its requests."""
    rate, limit, now_ms, total = Rate(), 1_000.0, 0, 0
    for pause_ms, amount in steps:
        now_ms += pause_ms
        rate.record(amount, now_ms)
        total += amount
        now_ms += rate.throttle_ms(limit, now_ms)
    assert total <= limit * (now_ms / 1000 + 11)
