"""One timer per shard, never later than the next deadline."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.broker.shard_timer import ShardTimer
from headrace.testing.simulated_background import SimulatedBackground
from headrace.testing.simulated_clock import SimulatedClock


class FakeShard:
    """Has one deadline; ``tick`` takes it away."""

    def __init__(self) -> None:
        self.due_ms: int | None = None
        self.ticks: list[int] = []

    def next_deadline_ms(self) -> int | None:
        return self.due_ms

    def tick(self, now_ms: int) -> None:
        self.ticks.append(now_ms)
        if self.due_ms is not None and now_ms >= self.due_ms:
            self.due_ms = None


class Bench:
    def __init__(self) -> None:
        self.clock = SimulatedClock()
        self.background = SimulatedBackground(self.clock)
        self.shard = FakeShard()
        shard: Any = self.shard
        self.timer = ShardTimer(shard, self.clock, self.background)

    def set_deadline(self, seconds: float) -> None:
        self.shard.due_ms = self.clock.now_ms() + int(seconds * 1000)
        self.timer.look()


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_without_a_deadline_there_is_no_timer(bench: Bench) -> None:
    bench.timer.look()
    assert bench.background.timers == 0


def test_deadline_is_kept(bench: Bench) -> None:
    bench.set_deadline(5)
    bench.background.advance(4.9)
    assert bench.shard.ticks == []
    bench.background.advance(0.2)
    assert len(bench.shard.ticks) == 1
    assert bench.background.timers == 0


def test_earlier_deadline_takes_the_place_of_a_later_one(bench: Bench) -> None:
    bench.set_deadline(50)
    bench.set_deadline(1)
    assert bench.background.timers == 1
    bench.background.advance(2)
    assert len(bench.shard.ticks) == 1


def test_later_deadline_costs_one_look_too_many(bench: Bench) -> None:
    bench.set_deadline(1)
    bench.set_deadline(3)
    bench.background.advance(2)
    assert len(bench.shard.ticks) == 1
    assert bench.shard.due_ms is not None
    bench.background.advance(2)
    assert bench.shard.due_ms is None


def test_cancelled_timer_never_fires(bench: Bench) -> None:
    bench.set_deadline(1)
    bench.timer.cancel()
    bench.timer.cancel()
    bench.background.advance(10)
    assert bench.shard.ticks == []
