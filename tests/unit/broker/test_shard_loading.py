"""Shards are read in slices, those that are asked for first."""

from __future__ import annotations

import pytest

from headrace.broker import shard_loading
from headrace.broker.shard_loading import ShardLoader
from headrace.testing.simulated_background import SimulatedBackground
from headrace.testing.simulated_clock import SimulatedClock


class FakeShard:
    def __init__(self, records: int) -> None:
        self.records = records
        self.is_loading = True

    def load_some(self, records_max: int) -> int:
        count = min(self.records, records_max)
        self.records -= count
        self.is_loading = self.records > 0
        return count


class Bench:
    def __init__(self) -> None:
        self.background = SimulatedBackground(SimulatedClock())
        self.is_done = False
        self.loader = ShardLoader(self.background, self._done)

    def _done(self) -> None:
        assert self.loader.is_done
        self.is_done = True


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setattr(shard_loading, "RECORDS_BEFORE_SERVING_MAX", 10)
    monkeypatch.setattr(shard_loading, "RECORDS_PER_SLICE", 5)
    return Bench()


def test_short_logs_are_read_at_once(bench: Bench) -> None:
    bench.loader.start([FakeShard(3), FakeShard(0), FakeShard(6)])
    assert bench.is_done
    assert bench.background.timers == 0


def test_long_logs_are_read_slice_by_slice(bench: Bench) -> None:
    shards = [FakeShard(12), FakeShard(12)]
    bench.loader.start(shards)
    assert (shards[0].records, shards[1].records) == (2, 12)
    assert not bench.is_done
    bench.background.advance(0)
    assert bench.is_done
    assert [shard.records for shard in shards] == [0, 0]


def test_shard_that_is_asked_for_goes_first(bench: Bench) -> None:
    shards = [FakeShard(10), FakeShard(4), FakeShard(4)]
    bench.loader.start(shards)
    bench.loader.prefer(shards[2])
    bench.loader.prefer(FakeShard(1))
    bench.loader._load_some(4)
    assert (shards[1].records, shards[2].records) == (4, 0)


def test_stopped_loader_reads_no_more(bench: Bench) -> None:
    shard = FakeShard(12)
    bench.loader.start([shard])
    bench.loader.stop()
    bench.background.advance(1)
    assert shard.records == 2
    assert not bench.is_done
