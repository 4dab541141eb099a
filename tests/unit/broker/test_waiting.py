"""The waiting room: who is called, when, and that nobody is called twice."""

from __future__ import annotations

import gc
import weakref

import pytest

from headrace.broker.waiting import WaitingRoom
from headrace.testing.simulated_background import SimulatedBackground
from headrace.testing.simulated_clock import SimulatedClock


class GrowingLog:
    """As much of a log as the waiting room looks at."""

    def __init__(self) -> None:
        self.appended_bytes = 1_000
        self.listener = None

    def grow(self, count: int) -> None:
        self.appended_bytes += count
        if self.listener is not None:
            self.listener(self)


@pytest.fixture
def background() -> SimulatedBackground:
    return SimulatedBackground(SimulatedClock())


@pytest.fixture
def room(background: SimulatedBackground) -> WaitingRoom:
    return WaitingRoom(background)


def test_waiter_is_called_once_the_log_has_grown_enough(room, background):
    log, calls = GrowingLog(), []
    room.park([log], 100, 10_000, lambda: calls.append("ready"))
    log.grow(60)
    background.advance(0)
    assert calls == []
    log.grow(40)
    assert calls == [], "the producer's own answer goes first"
    background.advance(0)
    assert calls == ["ready"]
    log.grow(500)
    background.advance(20)
    assert calls == ["ready"]


def test_waiter_is_called_at_its_deadline_without_growth(room, background):
    log, calls = GrowingLog(), []
    room.park([log], 1, 500, lambda: calls.append("ready"))
    background.advance(0.499)
    assert calls == []
    background.advance(0.001)
    assert calls == ["ready"]
    assert room.parked == 0


def test_growth_of_several_logs_adds_up(room, background):
    logs, calls = [GrowingLog() for _ in range(3)], []
    room.park(logs, 90, 10_000, lambda: calls.append("ready"))
    for log in logs:
        log.grow(30)
    background.advance(0)
    assert calls == ["ready"]


def test_log_without_waiters_has_no_listener(room, background):
    log = GrowingLog()
    first = room.park([log], 1, 1_000, lambda: None)
    second = room.park([log], 1, 1_000, lambda: None)
    assert log.listener is not None
    room.leave(first)
    assert log.listener is not None
    room.leave(second)
    assert log.listener is None
    assert background.timers == 0


def test_waiter_that_left_is_not_called(room, background):
    log, calls = GrowingLog(), []
    waiter = room.park([log], 1, 1_000, lambda: calls.append("ready"))
    room.leave(waiter)
    log.grow(10)
    background.advance(5)
    assert calls == []
    assert room.parked == 0


def test_log_that_changed_without_growing_wakes_its_waiters(room, background):
    log, calls = GrowingLog(), []
    room.park([log], 100, 60_000, lambda: calls.append("ready"))
    log.grow(0)  # deleted, truncated, or a transaction ended
    background.advance(0)
    assert calls == ["ready"]


def test_one_append_wakes_all_waiters_of_a_log(room, background):
    log, calls = GrowingLog(), []
    for number in range(1_000):
        room.park([log], 1, 60_000, lambda number=number: calls.append(number))
    log.grow(1)
    background.advance(0)
    assert calls == list(range(1_000))
    assert room.parked == 0
    assert log.listener is None


def test_nobody_who_waited_is_left_to_the_collector(room, background):
    """Thousands come and go each second: what they leave behind must go by itself."""
    log = GrowingLog()

    class Parked:
        def __init__(self) -> None:
            self.waiter = room.park([log], 1, 500, self.ready)

        def ready(self) -> None:
            """Called at the deadline."""

    gc.disable()
    try:
        gone = [weakref.ref(Parked()) for _ in range(100)]
        background.advance(1)
        assert [ref for ref in gone if ref() is not None] == []
    finally:
        gc.enable()
