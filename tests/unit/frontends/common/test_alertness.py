"""When it pays to stay awake for the next request."""

from __future__ import annotations

from headrace.frontends.common.alertness import Alertness

LIMIT_S = 0.0004


class Day:
    """A broker that is asked again and again, so long after each answer."""

    def __init__(self, limit_seconds=LIMIT_S):
        self.alertness = Alertness(limit_seconds)
        self.now = 100.0

    def gaps(self, *gaps):
        for gap in gaps:
            self.alertness.idle_from(self.now)
            self.now += gap
            self.alertness.requests_came(self.now)
        self.alertness.idle_from(self.now)
        return self

    def stays_awake_for(self, seconds):
        return self.alertness.stays_awake(self.now + seconds)


def test_sleeps_at_first():
    assert not Day().stays_awake_for(0.0)


def test_stays_awake_up_to_the_limit_where_requests_follow_closely():
    day = Day().gaps(*[0.00005] * 10)
    assert day.alertness.is_worth_it
    assert day.stays_awake_for(LIMIT_S * 0.9)
    assert not day.stays_awake_for(LIMIT_S * 1.1)


def test_one_long_silence_is_forgiven_several_are_not_and_it_learns_again_soon():
    day = Day().gaps(*[0.00005] * 20).gaps(3_600.0)
    assert day.alertness.is_worth_it
    assert not day.gaps(*[3_600.0] * 5).alertness.is_worth_it
    assert day.gaps(*[0.00005] * 8).alertness.is_worth_it


def test_steady_requests_beyond_half_the_limit_never_keep_it_awake():
    day = Day()
    for _ in range(1_000):
        assert not day.gaps(LIMIT_S * 0.51).alertness.is_worth_it


def test_requests_of_one_turn_count_once():
    day = Day().gaps(*[0.00005] * 20)
    for _ in range(100):  # no answer in between: nothing was idle
        day.alertness.requests_came(day.now + 1.0)
    day.alertness.idle_from(day.now + 1.0)
    day.now += 1.0
    day.gaps(0.00005, 0.00005)
    assert day.alertness.is_worth_it


def test_a_limit_of_nothing_is_never_worth_it():
    day = Day(limit_seconds=0.0).gaps(*[0.0] * 100)
    assert not day.alertness.is_worth_it
    assert not day.stays_awake_for(0.0)
