"""How long a well-behaved client waits: one synchronous Produce after the other.

A single window tells more about the scheduler than about the broker, so the p99 of several windows
are taken and their median counts.
"""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING

from tests.process.parties import connect
from tests.wire.calls import batch, produce

if TYPE_CHECKING:
    from tests.interop.broker_process import BrokerProcess

WINDOWS = 5
ROUND_TRIPS_PER_WINDOW = 500


def p99_milliseconds(broker: BrokerProcess, topic: str) -> float:
    """The median of the windows' p99."""
    with connect(broker) as client:
        record = {0: batch(b"v" * 100)}
        windows: list[float] = []
        for _ in range(WINDOWS):
            times: list[float] = []
            for _ in range(ROUND_TRIPS_PER_WINDOW):
                started = time.perf_counter()
                assert produce(client, topic, record)[0].error_code == 0
                times.append(time.perf_counter() - started)
            windows.append(statistics.quantiles(times, n=100)[98] * 1000)
        return statistics.median(windows)
