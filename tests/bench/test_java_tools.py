"""What Kafka 4.3's performance tools print."""

from __future__ import annotations

import pytest

from bench.java_tools import ToolFailed, consumer_rate, producer_rate, transaction_figures

PRODUCED = (
    "240101 records sent, 48020.2 records/sec (4.58 MB/sec), 2.1 ms avg latency, 9.0 ms max.\n"
    "500000 records sent, 151699.902913 records/sec (14.47 MB/sec), 48.00 ms avg latency, "
    "1567.00 ms max latency, 49 ms 50th, 83 ms 95th, 95 ms 99th, 105 ms 99.9th.\n"
)
CONSUMED = (
    "WARNING: some option is deprecated\n"
    "start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, "
    "rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec\n"
    "2026-01-16 04:04:44:428, 2026-01-16 04:04:50:381, 4.7684, 0.8010, 50123, 8399.1265, "
    "4803, 1150, 4.1464, 43478.2609\n"
)


def test_the_rate_of_the_producer_is_that_of_the_summary():
    assert producer_rate(PRODUCED, 500_000) == 151_699.902913


def test_the_rate_of_the_consumer_leaves_out_the_rebalance():
    assert consumer_rate(CONSUMED, 50_000) == 43_478.2609


def test_a_summary_of_fewer_records_is_an_error():
    with pytest.raises(ToolFailed, match="no summary of 600000 records"):
        producer_rate(PRODUCED, 600_000)
    with pytest.raises(ToolFailed, match="50123 of 60000"):
        consumer_rate(CONSUMED, 60_000)


def test_no_summary_is_an_error_with_the_output_in_it():
    with pytest.raises(ToolFailed, match="Timeout"):
        producer_rate("TimeoutException: no answer\n", 1)
    with pytest.raises(ToolFailed, match="no line of values"):
        consumer_rate("", 1)


def test_transactions_are_counted_per_second_and_timed_in_milliseconds():
    figures = transaction_figures("some warning\nfigures: 600 1500 20000\n", 6.0)
    assert figures == {"rate": 100.0, "p50": 1.5, "p99": 20.0}


@pytest.mark.parametrize("output", ["", "no figures at all", "figures: 1 2"])
def test_output_without_figures_of_transactions_is_an_error(output):
    with pytest.raises(ToolFailed, match="no line of figures"):
        transaction_figures(output, 6.0)
