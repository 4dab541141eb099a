"""How fast somebody is, and how long it must wait."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.quotas.rates import Rate

WINDOW_MS = 1_000
STEPS = st.lists(st.tuples(st.integers(0, 3_000), st.integers(0, 10_000)), min_size=1, max_size=60)


def test_rate_is_over_at_least_ten_seconds():
    rate = Rate()
    rate.record(1_000, 0)
    assert rate.per_second(0) == 100
    assert rate.per_second(5_000) == 100


def test_a_window_that_has_begun_counts_as_time():
    rate = Rate()
    rate.record(1_000, 0)
    assert rate.per_second(500) == pytest.approx(1_000 / 10.5)


def test_nothing_is_owed_within_the_quota():
    rate = Rate()
    rate.record(1_000, 0)
    assert rate.throttle_ms(100, 0) == 0


def test_who_took_twice_as_much_waits_as_long_again():
    rate = Rate()
    rate.record(2_000, 0)
    assert rate.throttle_ms(100, 0) == 10_000


def test_old_amounts_are_forgotten():
    rate = Rate()
    rate.record(2_000, 0)
    assert rate.total(10_999) == 2_000
    assert rate.per_second(11_000) == 0
    assert rate.is_idle(11_000)


def test_what_is_taken_back_does_not_count():
    rate = Rate()
    rate.record(500, 0)
    rate.record(2_000, 400)
    rate.record(-2_000, 400)
    assert rate.total(400) == 500


def test_a_single_window_is_no_division_by_zero():
    rate = Rate(window_count=1)
    rate.record(5, 0)
    assert rate.throttle_ms(1, 0) > 0


class Model:
    """All that ever happened, looked at from the start each time."""

    def __init__(self, window_count: int) -> None:
        self._window_count = window_count
        self._events: list[tuple[int, int]] = []

    def record(self, amount: int, now_ms: int) -> None:
        self._events.append((now_ms, amount))

    def _windows(self, now_ms: int) -> list[list[tuple[int, int]]]:
        windows: list[list[tuple[int, int]]] = []
        for event in self._events:
            windows = self._within(windows, event[0])
            if windows and event[0] - windows[-1][0][0] < WINDOW_MS:
                windows[-1].append(event)
            else:
                windows.append([event])
        return self._within(windows, now_ms)

    def _within(
        self, windows: list[list[tuple[int, int]]], now_ms: int
    ) -> list[list[tuple[int, int]]]:
        return [each for each in windows if now_ms - each[-1][0] < self._window_count * WINDOW_MS]

    def per_second(self, now_ms: int) -> float:
        windows = self._windows(now_ms)
        total = sum(amount for window in windows for _, amount in window)
        elapsed_ms = now_ms - windows[0][0][0] if windows else 0
        while elapsed_ms < (self._window_count - 1) * WINDOW_MS:
            elapsed_ms += WINDOW_MS
        return total / max(1, elapsed_ms) * 1000


@given(STEPS, st.integers(2, 12), st.integers(0, 15_000))
def test_rate_is_that_of_the_model(
    steps: list[tuple[int, int]], window_count: int, pause_ms: int
) -> None:
    rate, model, now_ms = Rate(window_count, WINDOW_MS), Model(window_count), 0
    for step_ms, amount in steps:
        now_ms += step_ms
        rate.record(amount, now_ms)
        model.record(amount, now_ms)
        assert rate.per_second(now_ms) == pytest.approx(model.per_second(now_ms))
    now_ms += pause_ms
    assert rate.per_second(now_ms) == pytest.approx(model.per_second(now_ms))


@given(STEPS)
def test_who_waits_as_told_gets_the_quota_on_average(steps: list[tuple[int, int]]) -> None:
    """Whatever the sizes of its requests: what goes beyond is one burst of all windows."""
    rate, limit, now_ms, total = Rate(), 1_000.0, 0, 0
    for pause_ms, amount in steps:
        now_ms += pause_ms
        rate.record(amount, now_ms)
        total += amount
        now_ms += rate.throttle_ms(limit, now_ms)
    assert total <= limit * (now_ms / 1000 + 11)


@given(STEPS)
def test_no_more_windows_are_kept_than_are_measured(steps: list[tuple[int, int]]) -> None:
    rate, now_ms = Rate(), 0
    for step_ms, amount in steps:
        now_ms += step_ms
        rate.record(amount, now_ms)
        assert len(rate._windows) <= 12
