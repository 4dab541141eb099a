"""How far a reader may see."""

from __future__ import annotations

import pytest

from headrace.broker.fetch import Fetching, Limits, Target
from headrace.broker.topics import Partition
from headrace.broker.waiting import WaitingRoom
from headrace.testing.log_bench import LogBench

ALL_BYTES = 1 << 20


@pytest.fixture
def bench() -> LogBench:
    return LogBench()


def read(bench: LogBench, log, offset: int, *, committed_only: bool = False):
    fetching = Fetching(WaitingRoom(bench.background), bench.clock, parked_max=10)
    target = Target(Partition("t", log.topic_id, 0, log), offset, ALL_BYTES)
    limits = Limits(ALL_BYTES, min_bytes=1, wait_ms=0, committed_only=committed_only)
    return fetching.read([target], limits).partitions[0]


def test_read_ends_at_the_high_watermark(bench):
    log = bench.create(durability="fsync")
    bench.append(log, [b"safe"])
    safe_bytes = log.size_bytes
    bench.append(log, [b"not yet"], run=False)
    fetched = read(bench, log, 0)
    assert (fetched.high_watermark, len(fetched.records)) == (1, safe_bytes)
    assert read(bench, log, 1).records is None
    bench.background.run_all()
    assert read(bench, log, 1).records is not None


def test_committed_read_ends_before_an_open_transaction(bench):
    log = bench.create()
    bench.append(log, [b"plain"])
    plain_bytes = log.size_bytes
    fields = {"producer_id": 1, "producer_epoch": 0, "base_sequence": 0, "transactional": True}
    bench.append(log, [b"open"], **fields)
    fetched = read(bench, log, 0, committed_only=True)
    assert (fetched.last_stable_offset, len(fetched.records)) == (1, plain_bytes)
    assert len(read(bench, log, 0).records) == log.size_bytes
    bench.append_marker(log, 1, abort=False)
    assert len(read(bench, log, 0, committed_only=True).records) == log.size_bytes
