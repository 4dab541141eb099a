"""Bursts are let through, and their debt is waited for."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headrace.quotas.token_bucket import TokenBucket

LIMIT = 5.0


def test_a_bucket_begins_full():
    bucket = TokenBucket()
    bucket.take(55, LIMIT, 0)
    assert bucket.throttle_ms(LIMIT, 0) == 0


def test_a_burst_costs_the_time_that_it_is_worth():
    bucket = TokenBucket()
    bucket.take(55 + 60, LIMIT, 0)
    assert bucket.throttle_ms(LIMIT, 0) == 12_000
    assert bucket.throttle_ms(LIMIT, 11_000) == 1_000
    assert bucket.throttle_ms(LIMIT, 12_000) == 0


def test_it_never_holds_more_than_its_size():
    bucket = TokenBucket()
    bucket.take(10, LIMIT, 0)
    bucket.take(55 + 5, LIMIT, 1_000_000)
    assert bucket.throttle_ms(LIMIT, 1_000_000) == 1_000


def test_a_smaller_limit_makes_it_smaller():
    bucket = TokenBucket()
    bucket.take(0, LIMIT, 0)
    bucket.take(12, 1.0, 0)
    assert bucket.throttle_ms(1.0, 0) == 1_000


def test_it_may_be_forgotten_once_it_is_full():
    bucket = TokenBucket()
    assert bucket.is_idle(0)
    bucket.take(10, LIMIT, 0)
    assert not bucket.is_idle(1_999)
    assert bucket.is_idle(2_000)


def test_a_debt_is_not_forgotten():
    bucket = TokenBucket()
    bucket.take(1_000, LIMIT, 0)
    assert not bucket.is_idle(199_000)
    assert bucket.is_idle(200_000)


@given(st.lists(st.tuples(st.integers(0, 5_000), st.integers(1, 100)), max_size=50))
def test_tokens_are_those_of_the_model(steps: list[tuple[int, int]]) -> None:
    """The model counts in thousandths of a token, in whole numbers."""
    bucket, now_ms, tokens = TokenBucket(), 0, 55_000
    for step_ms, amount in steps:
        now_ms += step_ms
        tokens = min(55_000, tokens + 5 * step_ms)
        bucket.take(amount, LIMIT, now_ms)
        tokens -= amount * 1_000
        owed_ms = bucket.throttle_ms(LIMIT, now_ms)
        assert abs(owed_ms - max(0, -tokens / 5)) <= 1
