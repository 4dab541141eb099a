"""Every fsync is timed, whatever thread it runs in."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from headrace.metrics.registry import Histogram
from headrace.model.errors import StorageFailure
from headrace.storage.timed_sync import TimedSync
from headrace.testing.simulated_clock import SimulatedClock


class SlowFile:
    """Takes a quarter of a second for each sync."""

    def __init__(self, clock: SimulatedClock, *, fails: bool = False) -> None:
        self._clock = clock
        self._fails = fails

    def sync(self) -> None:
        self._clock.advance(0.25)
        if self._fails:
            raise StorageFailure("no")


def test_time_of_a_sync_is_observed():
    clock, seconds = SimulatedClock(), Histogram()
    TimedSync(clock, seconds)(SlowFile(clock))
    assert (seconds.count, seconds.total) == (1, pytest.approx(0.25))


def test_sync_that_fails_is_not_counted():
    clock, seconds = SimulatedClock(), Histogram()
    with pytest.raises(StorageFailure):
        TimedSync(clock, seconds)(SlowFile(clock, fails=True))
    assert seconds.count == 0


def test_no_sync_is_lost_among_threads():
    seconds = Histogram()
    sync = TimedSync(SimulatedClock(), seconds)
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: sync(SlowFile(SimulatedClock())), range(400)))
    assert seconds.count == 400
