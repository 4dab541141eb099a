"""Ratios, spread and verdicts."""

from __future__ import annotations

import pytest

from bench.figures import Figure
from bench.outcomes import FigureOutcome, Ratio, Report, WorkOutcome

RATE = Figure("rate", "records/s", "higher", 1.3)
TIME = Figure("p50", "us", "lower", 0.8)


def outcome(figure, headrace, kafka):
    return FigureOutcome(figure, {"headrace": tuple(headrace), "kafka": tuple(kafka)})


def test_the_ratio_is_the_median_of_the_ratios_of_the_rounds():
    """Not the ratio of the medians, which would be 2: a slow minute hits both of one round."""
    found = outcome(RATE, [100, 30, 200], [50, 10, 200])
    assert found.ratios == (2.0, 3.0, 1.0)
    assert found.ratio == Ratio(2.0, 1.0, 3.0)
    assert outcome(RATE, [100, 20, 10], [50, 10, 20]).ratio == Ratio(2.0, 0.5, 2.0)


@pytest.mark.parametrize(
    ("figure", "headrace", "verdict"),
    [(RATE, 13, "ok"), (RATE, 12.9, "missed"), (TIME, 8, "ok"), (TIME, 8.1, "missed")],
)
def test_the_verdict_compares_with_the_bar(figure, headrace, verdict):
    assert outcome(figure, [headrace], [10]).verdict == verdict


def test_without_a_bar_there_is_a_ratio_and_no_verdict():
    found = outcome(Figure("rate", "records/s", "higher"), [10], [5])
    assert found.ratio == Ratio(2.0, 2.0, 2.0)
    assert found.verdict is None


def test_headrace_alone_has_values_and_no_ratio():
    found = FigureOutcome(RATE, {"headrace": (5.0, 7.0, 6.0)})
    assert found.median("headrace") == 6.0
    assert found.median("kafka") is None
    assert found.ratio is None
    assert found.verdict is None


def test_a_round_that_only_one_broker_finished_has_no_ratio():
    assert outcome(RATE, [10, 20], [5]).ratios == (2.0,)


def test_a_zero_of_kafka_has_no_ratio():
    assert outcome(TIME, [1, 2], [0, 4]).ratios == (0.5,)


def test_a_report_collects_verdicts_and_errors():
    good = WorkOutcome("a", "A", "page cache", (outcome(RATE, [13], [10]),))
    bad = WorkOutcome("b", "B", "page cache", (outcome(TIME, [9], [10]),), "kafka, round 2: gone")
    report = Report("now", "full", 1.0, 45.0, {}, works=[good, bad])
    assert report.verdicts == ["ok", "missed"]
    assert report.errors == ["b: kafka, round 2: gone"]
