"""Prometheus' text, read back by prometheus-client's own parser."""

from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families

from headrace.metrics.catalogue import CATALOGUE
from headrace.metrics.exposition import CONTENT_TYPE, Exposition
from headrace.metrics.registry import (
    GroupSample,
    LagSample,
    LogSample,
    Metrics,
    OpenTransactions,
)


@pytest.fixture
def metrics() -> Metrics:
    metrics = Metrics()
    metrics.count_produced('odd "topic"\n', 100, 3)
    metrics.count_fetched('odd "topic"\n', 60)
    metrics.api_names[0] = "Produce"
    metrics.observe_request(0, 0.003)
    metrics.observe_request(99, 20.0)
    metrics.connections_opened, metrics.connections_closed = 5, 2
    metrics.storage.wal_sync_seconds.observe(0.01)
    metrics.logs = lambda: [LogSample("a", 0, 10, 1, 7)]
    metrics.lags = lambda: [LagSample("g", "a", 0, 4, 3)]
    metrics.groups = lambda: [GroupSample("g", "classic", 2)]
    metrics.parked_fetches = lambda: 12
    metrics.count_throttled("producer_byte_rate", 1_500)
    return metrics


def samples(metrics: Metrics) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    text = Exposition(metrics, "1.2.3").render().decode()
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_numbers_appear_under_their_names_and_labels(metrics: Metrics) -> None:
    found = samples(metrics)
    topic = (("topic", 'odd "topic"\n'),)
    assert found["headrace_topic_bytes_in_total", topic] == 100
    assert found["headrace_topic_records_in_total", topic] == 3
    assert found["headrace_topic_bytes_out_total", topic] == 60
    assert found["headrace_connections_open", ()] == 3
    assert found["headrace_parked_fetches", ()] == 12
    assert found["headrace_log_end_offset", (("partition", "0"), ("topic", "a"))] == 7
    lag = (("group", "g"), ("partition", "0"), ("topic", "a"))
    assert found["headrace_group_lag_records", lag] == 3
    assert found["headrace_group_members", (("group", "g"), ("kind", "classic"))] == 2
    quota = (("quota", "producer_byte_rate"),)
    assert found["headrace_throttled_requests_total", quota] == 1
    assert found["headrace_throttle_seconds_total", quota] == 1.5
    assert found["headrace_build_info", (("version", "1.2.3"),)] == 1


def test_transactions_are_shown_by_state_and_by_result() -> None:
    metrics = Metrics()
    metrics.transactions.committed, metrics.transactions.timed_out = 7, 2
    metrics.transactions.producers_fenced = 3
    metrics.open_transactions = lambda: OpenTransactions({"Ongoing": 4}, 1.5)
    found = samples(metrics)
    assert found["headrace_transactions_open", (("state", "Ongoing"),)] == 4
    assert found["headrace_transaction_oldest_open_seconds", ()] == 1.5
    ended = "headrace_transactions_ended_total"
    assert found[ended, (("result", "committed"),)] == 7
    assert found[ended, (("result", "aborted"),)] == 0
    assert found[ended, (("result", "timed_out"),)] == 2
    assert found["headrace_producers_fenced_total", ()] == 3


def test_buckets_are_cumulative_and_end_with_all(metrics: Metrics) -> None:
    found = samples(metrics)
    name = "headrace_request_seconds_bucket"
    assert found[name, (("api", "Produce"), ("le", "0.0025"))] == 0
    assert found[name, (("api", "Produce"), ("le", "0.005"))] == 1
    assert found[name, (("api", "Produce"), ("le", "+Inf"))] == 1
    assert found["headrace_request_seconds_count", (("api", "Produce"),)] == 1


def test_api_without_a_name_goes_by_its_key(metrics: Metrics) -> None:
    found = samples(metrics)
    assert found["headrace_request_seconds_sum", (("api", "99"),)] == 20.0
    assert found["headrace_request_seconds_bucket", (("api", "99"), ("le", "10.0"))] == 0


def test_every_metric_of_the_catalogue_is_exposed(metrics: Metrics) -> None:
    text = Exposition(metrics, "1").render().decode()
    assert [name for name in CATALOGUE if f"# TYPE {name} " not in text] == []


def test_two_brokers_do_not_share_numbers(metrics: Metrics) -> None:
    assert samples(Metrics())["headrace_connections_open", ()] == 0
    assert samples(metrics)["headrace_connections_open", ()] == 3


def test_content_type_is_prometheus_text() -> None:
    assert CONTENT_TYPE.startswith("text/plain; version=0.0.4")
