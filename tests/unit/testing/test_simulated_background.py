"""Background work that waits for the test."""

from __future__ import annotations

import pytest

from headrace.testing.faulty_disk import SimulatedCrash
from headrace.testing.simulated_background import SimulatedBackground
from headrace.testing.simulated_clock import SimulatedClock


@pytest.fixture
def clock() -> SimulatedClock:
    return SimulatedClock(0)


@pytest.fixture
def background(clock: SimulatedClock) -> SimulatedBackground:
    return SimulatedBackground(clock)


def test_work_runs_in_order_when_told(background: SimulatedBackground) -> None:
    story: list[object] = []
    for name in "ab":
        background.submit(lambda name=name: story.append(name), story.append)  # type: ignore[misc]
    assert (story, background.pending) == ([], 2)
    background.run_one()
    assert story == ["a", None]
    background.run_all()
    assert story == ["a", None, "b", None]


def test_errors_are_reported_and_crashes_pass_through(background: SimulatedBackground) -> None:
    reports: list[BaseException | None] = []

    def fail() -> None:
        raise ValueError("no")

    def crash() -> None:
        raise SimulatedCrash("now")

    background.submit(fail, reports.append)
    background.submit(crash, reports.append)
    background.run_one()
    with pytest.raises(SimulatedCrash):
        background.run_one()
    assert [type(report) for report in reports] == [ValueError]


def test_timers_fire_at_their_moment_in_order(
    clock: SimulatedClock, background: SimulatedBackground
) -> None:
    story: list[tuple[str, int]] = []
    background.call_later(3, lambda: story.append(("late", clock.now_ms())))
    background.call_later(1, lambda: story.append(("soon", clock.now_ms())))
    background.call_later(2, lambda: story.append(("never", 0))).cancel()
    assert background.timers == 2
    background.advance(2)
    assert (story, clock.now_ms()) == ([("soon", 1000)], 2000)
    background.advance(5)
    assert story == [("soon", 1000), ("late", 3000)]
    assert clock.now_ms() == 7000


def test_timers_and_work_may_start_each_other(
    clock: SimulatedClock, background: SimulatedBackground
) -> None:
    story: list[int] = []

    def tick(error: BaseException | None = None) -> None:
        story.append(clock.now_ms())
        background.call_later(1, lambda: background.submit(lambda: None, tick))

    tick()
    background.advance(3.5)
    assert story == [0, 1000, 2000, 3000]


def test_a_dead_process_forgets_its_work(background: SimulatedBackground) -> None:
    background.submit(lambda: pytest.fail("ran"), lambda error: None)
    background.call_later(1, lambda: pytest.fail("fired"))
    background.forget()
    background.advance(10)
    assert (background.pending, background.timers) == (0, 0)
