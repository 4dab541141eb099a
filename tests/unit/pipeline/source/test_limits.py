from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headrace.model.topic import TopicPartition
from headrace.pipeline.source.limits import TriggerDelay, limited, total_lag

A, B, C = (TopicPartition("t", number) for number in range(3))


def test_the_limit_is_shared_in_proportion_to_the_lag():
    ends = limited({A: 0, B: 0, C: 10}, {A: 300, B: 100, C: 10}, 40)
    assert ends == {A: 30, B: 10, C: 10}


def test_less_lag_than_the_limit_is_taken_whole():
    assert limited({A: 5}, {A: 9}, 4) == {A: 9}


def test_a_small_partition_is_not_starved_by_a_large_one():
    assert limited({A: 0, B: 0}, {A: 1_000_000, B: 1}, 10) == {A: 9, B: 1}


def test_with_fewer_offsets_than_partitions_the_largest_lag_comes_first():
    assert limited({A: 0, B: 0, C: 0}, {A: 5, B: 9, C: 7}, 1) == {A: 0, B: 1, C: 0}


lags = st.lists(st.integers(0, 10**12), min_size=1, max_size=20)


@given(lags, st.integers(1, 10**12))
def test_the_shares_add_up_to_the_limit_and_no_partition_goes_too_far(sizes, limit):
    start = {TopicPartition("t", number): 7 for number in range(len(sizes))}
    latest = {TopicPartition("t", number): 7 + size for number, size in enumerate(sizes)}
    ends = limited(start, latest, limit)
    assert total_lag(start, ends) == min(limit, sum(sizes))
    assert all(start[key] <= ends[key] <= latest[key] for key in latest)


def test_a_small_batch_waits_until_it_is_large_enough():
    delay = TriggerDelay(offsets_min=100, delay_ms_max=1_000)
    assert not delay.must_wait(1, now_ms=0)  # the first one never waits
    assert delay.must_wait(99, now_ms=10)
    assert not delay.must_wait(100, now_ms=20)


def test_a_small_batch_waits_no_longer_than_allowed():
    delay = TriggerDelay(offsets_min=100, delay_ms_max=1_000)
    assert not delay.must_wait(1, now_ms=0)
    assert delay.must_wait(1, now_ms=999)
    assert not delay.must_wait(1, now_ms=1_000)
    assert delay.must_wait(1, now_ms=1_500)  # counted from the last batch
