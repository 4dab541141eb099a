"""The parts of the soak that judge: drift over time, retention by age, what topics look like."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from headrace.testing.history import Fault, History
from soak import drift, topics
from soak.percentiles import LatencyWindow
from soak.retention_bounds import RetentionBounds
from soak.samples import Sample

STEADY = Sample(**{field.name: 100 for field in fields(Sample)})


def drifted(samples: list[Sample]) -> set[str]:
    return {verdict.name for verdict in drift.judge(samples) if verdict.has_drifted}


def series(**values_of: list[float]) -> list[Sample]:
    count = len(next(iter(values_of.values())))
    return [
        replace(STEADY, at_seconds=number, **{name: v[number] for name, v in values_of.items()})
        for number in range(count)
    ]


def test_what_stays_does_not_drift():
    assert drifted(series(resident_megabytes=[100 + n % 7 for n in range(80)])) == set()


def test_leak_drifts_and_warm_up_does_not():
    assert drifted(series(resident_megabytes=[100 + n for n in range(80)])) == {
        "resident_megabytes"
    }
    warm_up = [min(n, 18) * 10 + 100 for n in range(80)]
    assert drifted(series(resident_megabytes=warm_up)) == set()


def test_only_the_bad_direction_counts():
    falling = [100 - n for n in range(80)]
    assert drifted(series(produce_p50_ms=falling)) == set()
    assert drifted(series(produced_per_second=[20_000 + 50 * n for n in falling])) == {
        "produced_per_second"
    }


def test_few_samples_say_nothing():
    with pytest.raises(ValueError, match="3 samples"):
        drift.judge([STEADY] * 3)


def test_latencies_are_taken_once():
    window = LatencyWindow()
    for number in range(1, 101):
        window.add(number / 1000)
    assert window.take() == (pytest.approx(51), pytest.approx(100))
    assert window.take() == (0, 0)


def test_retention_may_delete_what_was_there_so_long_ago_and_no_more():
    now_s = 0.0
    history = History()
    topic = topics.ageing("old", 1, retention_ms=10_000)
    history.topic(topic.name, 1)
    bounds = RetentionBounds(history, lambda: now_s)
    bounds.add([topic])
    partition = history.partition("old", 0)
    for second, end_offset in enumerate(range(0, 300, 10)):
        now_s = float(second)
        bounds.note(("old", 0), now_s, end_offset)
    partition.observe_log_start(190)  # written by second 19, now is 29
    assert history.report().is_clean
    partition.observe_log_start(191)
    assert history.report().violations == {Fault.DELETED_EARLY: 1}
