"""Compaction of a coordinator's log in which offsets were committed within transactions.

Such batches have a producer and an epoch, but no sequences.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.records.header import read_header
from headrace.storage.compaction import Compactor
from headrace.storage.control_batch import build_end_marker, read_end_marker
from headrace.storage.log_port import Origin
from headrace.testing.storage_bench import DATA, StorageBench, pairs_of

if TYPE_CHECKING:
    from headrace.storage.log import SegmentedLog

RETENTION_MS = 10_000


@pytest.fixture
def bench() -> StorageBench:
    return StorageBench()


@pytest.fixture
def log(bench: StorageBench) -> SegmentedLog:
    return bench.log(
        cleanup_policy="compact",
        min_cleanable_dirty_ratio=0,
        internal_segment_bytes=300,
        delete_retention_ms=RETENTION_MS,
    )


def write(bench: StorageBench, log: SegmentedLog, value: bytes, producer_id: int = 7) -> None:
    fields = {"producer_id": producer_id, "producer_epoch": 0, "transactional": True}
    bench.append(log, (b"offset", value), **fields)


def end(
    bench: StorageBench, log: SegmentedLog, producer_id: int = 7, *, is_commit: bool, epoch: int = 0
) -> None:
    marker = build_end_marker(
        producer_id, epoch, is_commit=is_commit, coordinator_epoch=0, timestamp_ms=1
    )
    bench.manager.append([(log, marker)], origin=Origin.COORDINATOR)


def fill(bench: StorageBench, log: SegmentedLog) -> None:
    """Enough for the segments before it to be closed."""
    for number in range(12):
        bench.append(log, (b"other", b"%d" % number))


def compact(bench: StorageBench, log: SegmentedLog) -> None:
    fill(bench, log)
    compactor = Compactor(DATA, bench.manager.environment)
    compactor.run([log], bench.clock.now_ms())
    bench.background.run_all()
    assert compactor.rounds == 1


def values(log: SegmentedLog) -> list[bytes | None]:
    return [value for _, key, value in pairs_of(log) if key == b"offset"]


def markers(log: SegmentedLog) -> list[bool]:
    """Of each marker that is there: whether it is one of a commit."""
    found = [read_end_marker(b) for b in log.records_from() if read_header(b).is_control]
    return [not marker.is_abort for marker in found if marker is not None]


def test_aborted_offset_goes_and_the_one_before_it_stays(
    bench: StorageBench, log: SegmentedLog
) -> None:
    write(bench, log, b"committed")
    end(bench, log, is_commit=True)
    write(bench, log, b"aborted")
    end(bench, log, is_commit=False)
    compact(bench, log)
    assert values(log) == [b"committed"]
    assert True in markers(log)


def test_order_of_records_decides_not_that_of_markers(
    bench: StorageBench, log: SegmentedLog
) -> None:
    write(bench, log, b"first", producer_id=7)
    write(bench, log, b"second", producer_id=8)
    end(bench, log, 8, is_commit=True)
    end(bench, log, 7, is_commit=True)
    compact(bench, log)
    assert values(log) == [b"second"]


def test_open_transaction_is_not_touched(bench: StorageBench, log: SegmentedLog) -> None:
    bench.append(log, (b"offset", b"before"))
    fill(bench, log)
    write(bench, log, b"open")
    bench.append(log, (b"offset", b"after"))
    compact(bench, log)
    assert values(log) == [b"before", b"open", b"after"]
    assert next(iter(log.producers())).transaction_start_offset == 13


def test_commit_marker_stays_as_long_as_its_offset(bench: StorageBench, log: SegmentedLog) -> None:
    write(bench, log, b"committed")
    end(bench, log, is_commit=True, epoch=1)
    for _ in range(4):
        compact(bench, log)
        bench.clock.advance_ms(2 * RETENTION_MS)
        assert (values(log), markers(log)) == ([b"committed"], [True])


def test_marker_goes_after_its_offset(bench: StorageBench, log: SegmentedLog) -> None:
    write(bench, log, b"old")
    end(bench, log, is_commit=True, epoch=1)
    bench.append(log, (b"offset", b"new"))
    for _ in range(4):
        compact(bench, log)
        bench.clock.advance_ms(2 * RETENTION_MS)
    assert (values(log), markers(log)) == ([b"new"], [])
    bench.disk.kill()
    bench.start()
    log = bench.get()
    assert values(log) == [b"new"]
    assert log.last_stable_offset == log.high_watermark
