"""Plain numbers: buckets, topics, requests."""

from __future__ import annotations

from bisect import bisect_left

from hypothesis import given
from hypothesis import strategies as st

from headrace.metrics.registry import TIME_BOUNDS_SECONDS, Histogram, Metrics


@given(st.lists(st.floats(0, 100)))
def test_histogram_counts_each_observation_once(values: list[float]) -> None:
    histogram = Histogram()
    for value in values:
        histogram.observe(value)
    assert histogram.count == len(values)
    assert histogram.total == sum(values)
    for index, bound in enumerate(TIME_BOUNDS_SECONDS):
        assert sum(histogram.counts[: index + 1]) == sum(value <= bound for value in values)


def test_histogram_puts_a_bound_into_its_own_bucket() -> None:
    histogram = Histogram((1.0, 2.0))
    for value in (1.0, 2.0, 2.1):
        histogram.observe(value)
    assert histogram.counts == [1, 1, 1]


def test_bounds_are_sorted() -> None:
    assert bisect_left(TIME_BOUNDS_SECONDS, 1.0) == TIME_BOUNDS_SECONDS.index(1.0)
    assert list(TIME_BOUNDS_SECONDS) == sorted(set(TIME_BOUNDS_SECONDS))


def test_topic_counters_are_kept_until_forgotten() -> None:
    metrics = Metrics()
    metrics.topic("a").bytes_in += 5
    assert metrics.topic("a").bytes_in == 5
    metrics.forget_topic("a")
    metrics.forget_topic("never there")
    assert metrics.topic("a").bytes_in == 0


def test_produced_and_fetched_batches_are_counted() -> None:
    metrics = Metrics()
    metrics.count_produced("a", 100, 3)
    metrics.count_produced("a", 50, 1)
    metrics.count_fetched("a", 100)
    metrics.count_fetched("a", 50)
    topic = metrics.topic("a")
    assert (topic.bytes_in, topic.records_in, topic.batches_in) == (150, 4, 2)
    assert topic.bytes_out == 150


def test_requests_are_timed_by_key() -> None:
    metrics = Metrics()
    metrics.observe_request(0, 0.1)
    metrics.observe_request(0, 0.2)
    metrics.observe_request(1, 0.3)
    assert {key: each.count for key, each in metrics.requests.items()} == {0: 2, 1: 1}


def test_callbacks_answer_nothing_until_they_are_set() -> None:
    metrics = Metrics()
    assert [*metrics.logs(), *metrics.lags(), *metrics.groups()] == []
    assert metrics.parked_fetches() == metrics.open_segment_files() == 0
