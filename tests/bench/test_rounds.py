"""The order of the rounds, and what an error does to them."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from bench.figures import Figure, Point, Series
from bench.rounds import alternate, growth_curves, rounds_of


@dataclass(frozen=True)
class Counted:
    """A work of which the rounds are given from outside."""

    name: str = "counted"
    title: str = "Counted"
    durability: str = "page cache"
    figures: tuple[Figure, ...] = (Figure("rate", "records/s", "higher"),)
    rounds_max: int = 3
    is_quick: bool = True


def numbered_runs(calls):
    def run(name):
        calls.append(name)
        return {"rate": float(len(calls))}

    return {"headrace": lambda: run("headrace"), "kafka": lambda: run("kafka")}


def test_rounds_alternate_between_the_brokers():
    calls, steps = [], []
    outcome = alternate(Counted(), numbered_runs(calls), 2, steps.append)
    assert calls == ["headrace", "kafka", "headrace", "kafka"]
    assert outcome.figures[0].values == {"headrace": (1.0, 3.0), "kafka": (2.0, 4.0)}
    assert outcome.error is None
    assert steps[0] == "counted, round 1 of 2, headrace"


def test_an_error_ends_the_rounds_of_its_work_and_keeps_what_was_measured():
    calls = []
    runs = numbered_runs(calls)

    def fail_at_last():
        if len(calls) > 2:
            raise RuntimeError("broker gone")
        return {"rate": 7.0}

    runs["kafka"] = fail_at_last
    outcome = alternate(Counted(), runs, 5, lambda _: None)
    assert outcome.error == "kafka, round 3: RuntimeError: broker gone"
    assert outcome.figures[0].values == {"headrace": (1.0, 2.0, 3.0), "kafka": (7.0, 7.0)}
    assert len(outcome.figures[0].ratios) == 2


def test_figures_that_the_work_does_not_name_are_an_error():
    outcome = alternate(Counted(), {"headrace": lambda: {"speed": 1.0}}, 1, lambda _: None)
    assert outcome.error is not None
    assert "['speed'] instead of ['rate']" in outcome.error


@pytest.mark.parametrize(
    ("rounds_max", "is_quick", "wanted", "rounds"),
    [
        (3, False, None, 3),
        (3, True, None, 2),
        (1, True, None, 1),
        (2, False, None, 2),
        (3, False, 7, 7),
        (1, False, 7, 1),
    ],
)
def test_how_often(rounds_max, is_quick, wanted, rounds):
    assert rounds_of(Counted(rounds_max=rounds_max), is_quick=is_quick, wanted=wanted) == rounds


class Growing:
    """One curve, which one of the brokers cannot finish."""

    name, title, durability = "growing", "Growing", "page cache"

    def run(self, factory, scale):
        if factory == "kafka's":
            raise RuntimeError("too many partitions")
        return [Series("rate", "partitions", "records/s", (Point(1, 10 * scale),))]


def test_curves_of_one_broker_survive_the_error_of_the_other():
    factories = {"headrace": "headrace's", "kafka": "kafka's"}
    outcome = growth_curves(Growing(), factories, 0.5, lambda _: None)
    assert outcome.series["headrace"][0].points == (Point(1, 5.0),)
    assert "kafka" not in outcome.series
    assert outcome.error == "kafka: RuntimeError: too many partitions"
