"""What the bars are compared with."""

from __future__ import annotations

import pytest

from bench.lake.outcomes import Report
from bench.lake.routes import CONNECTOR, ENGINE
from tests.bench.lake_reports import measurement, report


def bars():
    return {bar.title: bar for bar in report().bars}


def test_rates_are_compared_with_the_best_run_of_the_connector_on_either_broker():
    engine = bars()["Headrace's engine: rows/s, of the best connector run's"]
    assert (engine.low, engine.ratio, engine.high) == pytest.approx((7.5, 8.25, 9.0))
    assert engine.verdict == "ok"
    source = bars()['format("headrace"): rows/s, of the best connector run\'s']
    assert source.ratio == pytest.approx(1.5)
    assert source.verdict == "missed"


def test_broker_cpu_is_compared_with_the_connector_on_the_same_broker():
    engine = bars()["Headrace's engine: broker CPU, of the connector's on Headrace"]
    assert engine.ratio == pytest.approx(0.02)
    assert engine.verdict == "ok"
    source = bars()['format("headrace"): broker CPU, of the connector\'s on Headrace']
    assert source.ratio == pytest.approx(0.06)
    assert source.verdict == "missed"


def test_without_a_connector_there_is_nothing_to_compare_with():
    alone = Report("now", "quick", 1.0, 1, 4, "lz4", "snappy", {}, "no Maven")
    alone.measurements.append(measurement(ENGINE, 1_000_000))
    assert alone.bars == []


def test_each_size_of_records_has_bars_of_its_own():
    made = report()
    made.measurements += [
        measurement(ENGINE, 100_000, 0.5, "1 KiB"),
        measurement(CONNECTOR, 100_000, 1.0, "1 KiB"),
    ]
    found = [(bar.shape, bar.ratio) for bar in made.bars]
    assert len(found) == 6
    assert found[4:] == [("1 KiB", 1.0), ("1 KiB", 0.5)]


def test_rates_follow_from_rows_bytes_and_seconds():
    run = measurement(ENGINE, 500_000)
    assert run.seconds == 2.0
    assert run.rows_per_second == 500_000
    assert run.megabytes_per_second == 58.0
