"""Time that moves only when told."""

from __future__ import annotations

import pytest

from headrace.testing.simulated_clock import SimulatedClock


def test_both_clocks_advance_exactly() -> None:
    clock = SimulatedClock(now_ms=5000)
    for _ in range(1000):
        clock.advance(0.001)
    clock.advance_ms(500)
    assert clock.now_ms() == 6500
    assert clock.monotonic() == 1.5


def test_wall_clock_jumps_and_the_steady_clock_does_not() -> None:
    clock = SimulatedClock(now_ms=5000)
    clock.jump_to(100)
    assert (clock.now_ms(), clock.monotonic()) == (100, 0.0)


def test_time_does_not_run_backwards() -> None:
    with pytest.raises(AssertionError):
        SimulatedClock().advance(-1)
