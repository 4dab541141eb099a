"""The records that all ways move."""

from __future__ import annotations

from collections import Counter

import pytest

from bench.lake.batches import batches_of
from bench.lake.filling import targets_of
from bench.lake.shapes import LARGE, SHAPES, SMALL, TopicContent
from headrace.records.decode import decode_records
from headrace.records.header import read_header

NOW_MS = 1_800_000_000_000
COUNT = 4


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_records_have_the_size_of_their_shape_and_none_comes_twice(shape):
    batches = batches_of(shape, "lz4", NOW_MS, COUNT)
    records = [record for batch in batches for record in decode_records(batch)]
    assert len(records) == COUNT * shape.batch_records
    assert {(len(record.key), len(record.value)) for record in records} == {(16, shape.value_bytes)}
    assert len({record.value for record in records}) == len(records)
    assert max(record.timestamp_ms for record in records) == NOW_MS - 1


def test_both_brokers_get_the_same_bytes():
    assert batches_of(LARGE, "none", NOW_MS, COUNT) == batches_of(LARGE, "none", NOW_MS, COUNT)


def test_lz4_makes_events_about_half_as_large():
    plain, packed = (
        sum(map(len, batches_of(SMALL, codec, NOW_MS, COUNT))) for codec in ("none", "lz4")
    )
    assert 0.3 < packed / plain < 0.8
    assert read_header(batches_of(SMALL, "lz4", NOW_MS, 1)[0]).record_count == SMALL.batch_records


def test_after_a_whole_turn_every_partition_has_got_every_batch():
    content = TopicContent("lake", 3, 3 * SMALL.batch_records, SMALL)
    targets = targets_of(content, [b"one", b"two"])
    assert Counter(partition for _, partition in targets) == {0: 2, 1: 2, 2: 2}
    assert [partition for _, partition in targets[:3]] == [0, 1, 2]
