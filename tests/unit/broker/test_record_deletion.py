"""Records before an offset are deleted, where that is allowed."""

from __future__ import annotations

import pytest

from headrace.broker.record_deletion import delete_records_before
from headrace.model.errors import (
    InvalidTopicName,
    OffsetOutOfRange,
    PolicyViolation,
    UnknownTopicOrPartition,
)
from headrace.records.build import build_batch
from headrace.testing.metadata_bench import MetadataBench


@pytest.fixture
def bench() -> MetadataBench:
    bench = MetadataBench()
    bench.create("orders")
    bench.create("compacted", 1, cleanup_policy="compact")
    bench.create("both", 1, cleanup_policy="compact,delete")
    bench.create("__consumer_offsets")
    for name in ("orders", "both"):
        partition = bench.topics.partition(name, 0)
        assert partition is not None
        batch = build_batch([(b"k", b"v")] * 10, timestamp_ms=bench.clock.now_ms())
        bench.logs.append([(partition.log, batch)])
    return bench


@pytest.mark.parametrize(("offset", "start"), [(0, 0), (4, 4), (10, 10), (-1, 10)])
def test_log_begins_at_the_offset(bench: MetadataBench, offset: int, start: int) -> None:
    assert delete_records_before(bench.topics, "orders", 0, offset) == start
    partition = bench.topics.partition("orders", 0)
    assert partition is not None
    assert partition.log.log_start_offset == start


def test_log_never_begins_earlier_again(bench: MetadataBench) -> None:
    delete_records_before(bench.topics, "orders", 0, 7)
    assert delete_records_before(bench.topics, "orders", 0, 3) == 7


def test_topic_that_deletes_and_compacts_may_be_cut(bench: MetadataBench) -> None:
    assert delete_records_before(bench.topics, "both", 0, 2) == 2


@pytest.mark.parametrize(
    ("name", "offset", "error"),
    [
        ("orders", 11, OffsetOutOfRange),
        ("orders", -2, OffsetOutOfRange),
        ("compacted", 0, PolicyViolation),
        ("unknown", 0, UnknownTopicOrPartition),
        ("__consumer_offsets", 0, InvalidTopicName),
    ],
)
def test_deletion_is_refused(
    bench: MetadataBench, name: str, offset: int, error: type[Exception]
) -> None:
    with pytest.raises(error):
        delete_records_before(bench.topics, name, 0, offset)
