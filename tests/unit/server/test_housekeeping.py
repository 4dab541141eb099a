"""How often the chores are called: every few seconds, or as often as the settings want it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from headrace.config.broker import BrokerConfig
from headrace.server.housekeeping import INTERVAL_SECONDS, INTERVAL_SECONDS_MIN, Housekeeping
from headrace.testing.log_bench import LogBench


@pytest.mark.parametrize(
    ("settings", "seconds"),
    [
        ({}, INTERVAL_SECONDS),
        ({"log.cleaner.backoff.ms": "250"}, 0.25),
        ({"log.retention.check.interval.ms": "1000"}, 1.0),
        ({"log.cleaner.backoff.ms": "0"}, INTERVAL_SECONDS_MIN),
    ],
)
def test_shortest_interval_of_the_settings_is_kept(settings, seconds):
    bench = LogBench()
    waits: list[float] = []
    broker = SimpleNamespace(
        logs=bench.manager,
        clock=bench.clock,
        config=BrokerConfig.resolve(settings),
        topics=SimpleNamespace(on_change=lambda listener: None),
    )
    background = SimpleNamespace(call_later=lambda wait, turn: waits.append(wait) or turn)
    housekeeping = Housekeeping(broker, background)
    housekeeping.start()
    housekeeping._timer()
    assert waits == [seconds, seconds]
