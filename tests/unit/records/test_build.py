"""Batches we build, read by kafka-python, aiokafka and kio."""

from __future__ import annotations

import pytest
from aiokafka.record.default_records import DefaultRecordBatch as AiokafkaBatch
from hypothesis import example, given
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatch as KafkaPythonBatch
from kio.records.readers import read_batch

from headrace.records.build import build_batch, build_coordinator_batch, build_empty_batch
from headrace.records.compression import Compression
from headrace.records.decode import decode_records
from headrace.records.header import crc_is_valid, read_header
from headrace.records.record import Header, Record

CODECS = list(Compression)
TIMESTAMPS = st.integers(0, 253_402_300_799_000)  # kio's end at the year 9999
optional_binary = st.none() | st.binary(max_size=50)
headers = st.lists(st.builds(Header, st.text(max_size=9), optional_binary), max_size=3).map(tuple)
contents = st.lists(
    st.tuples(TIMESTAMPS, optional_binary, optional_binary, headers), min_size=1, max_size=8
)


def records_from(parts: list[tuple], base_offset: int) -> list[Record]:
    return [Record(base_offset + i, *part) for i, part in enumerate(parts)]


def values_of(records: object) -> list[Record]:
    """Records of another library, as ours."""
    return [
        Record(
            their.offset,
            their.timestamp,
            their.key,
            their.value,
            tuple(Header(*header) for header in their.headers),
        )
        for their in records  # type: ignore[attr-defined]
    ]


@given(contents, st.integers(0, 1 << 60), st.sampled_from(CODECS))
def test_kafka_python_and_aiokafka_read_our_batches(
    parts: list[tuple], base_offset: int, codec: Compression
) -> None:
    records = records_from(parts, base_offset)
    batch = bytes(build_batch(records, base_offset=base_offset, compression=codec))
    for reader in (KafkaPythonBatch(batch), AiokafkaBatch(batch)):
        assert reader.validate_crc()
        assert values_of(reader) == records
    assert decode_records(batch) == records


@given(contents)
def test_kio_reads_our_batches(parts: list[tuple]) -> None:
    records = records_from(parts, 40)
    batch = bytes(
        build_batch(records, base_offset=40, producer_id=9, producer_epoch=1, base_sequence=3)
    )
    theirs, _ = read_batch(batch, 0)
    assert [r.offset for r in theirs.records] == [r.offset for r in records]
    assert [(r.key, r.value) for r in theirs.records] == [(r.key, r.value) for r in records]
    assert [[h.value for h in r.headers] for r in theirs.records] == [
        [h.value for h in r.headers] for r in records
    ]
    assert (theirs.producer_id, theirs.producer_epoch, theirs.base_sequence) == (9, 1, 3)


@given(st.lists(st.integers(-(1 << 63), (1 << 63) - 1), min_size=1, max_size=5))
@example([-(1 << 62), 1 << 62])  # further apart than a delta can say
def test_negative_and_large_timestamps_survive(timestamps: list[int]) -> None:
    records = [Record(i, timestamp, None, b"v") for i, timestamp in enumerate(timestamps)]
    batch = build_batch(records)
    assert [record.timestamp_ms for record in decode_records(batch)] == timestamps
    assert read_header(batch).max_timestamp == max(timestamps)


def test_pairs_are_numbered_and_stamped() -> None:
    batch = build_batch([(b"a", b"1"), (None, None)], base_offset=10, timestamp_ms=5)
    assert decode_records(batch) == [Record(10, 5, b"a", b"1"), Record(11, 5, None, None)]


def test_gaps_and_the_last_offset_of_a_compacted_batch_are_kept() -> None:
    kept = [Record(12, 7, b"a", b"1"), Record(15, 9, b"b", b"2")]
    batch = build_batch(kept, base_offset=10, last_offset=19, base_sequence=4)
    header = read_header(batch)
    assert (header.base_offset, header.last_offset, header.record_count) == (10, 19, 2)
    assert header.last_sequence == 13
    assert decode_records(batch) == kept


def test_delete_horizon_moves_the_base_and_not_the_timestamps() -> None:
    records = [Record(0, 100, b"a", None), Record(1, 50, b"b", b"x")]
    batch = build_batch(records, delete_horizon_ms=5000)
    assert read_header(batch).delete_horizon_ms == 5000
    assert decode_records(batch) == records


def test_log_append_time_is_the_time_of_all_records() -> None:
    batch = build_batch([(b"a", b"1"), (b"b", b"2")], timestamp_ms=3, log_append_time_ms=70)
    assert [record.timestamp_ms for record in decode_records(batch)] == [70, 70]


def test_empty_batch_keeps_offsets_producer_and_sequences() -> None:
    full = build_batch(
        [(b"a", b"1")] * 4,
        base_offset=8,
        timestamp_ms=6,
        compression=Compression.ZSTD,
        producer_id=3,
        producer_epoch=1,
        base_sequence=20,
        transactional=True,
        leader_epoch=5,
    )
    empty = build_empty_batch(read_header(full))
    before, after = read_header(full), read_header(empty)
    assert len(empty) == 61
    assert crc_is_valid(empty, 0, 61)
    assert (after.base_offset, after.last_offset) == (8, 11)
    assert (after.record_count, after.compression) == (0, 0)
    assert after.last_sequence == before.last_sequence == 23
    assert (after.producer_id, after.producer_epoch, after.leader_epoch) == (3, 1, 5)
    assert after.is_transactional
    assert decode_records(empty) == []


def test_a_batch_without_records_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(AssertionError):
        build_batch([])


LONG_ENOUGH_FOR_TWO_BYTES = 70


@given(
    st.lists(st.tuples(st.none() | st.binary(), st.none() | st.binary()), min_size=1, max_size=90),
    st.integers(0, 1 << 60),
    st.integers(-1, 1 << 40),
    st.booleans(),
)
@example([(b"k" * LONG_ENOUGH_FOR_TWO_BYTES, b"v" * 9_000)] * LONG_ENOUGH_FOR_TWO_BYTES, 1, 7, True)
def test_batches_of_coordinators_are_those_that_anybody_would_build(
    pairs: list[tuple], timestamp_ms: int, producer_id: int, transactional: bool
) -> None:
    fields = {
        "timestamp_ms": timestamp_ms,
        "leader_epoch": 3,
        "producer_id": producer_id,
        "producer_epoch": 5,
        "transactional": transactional,
    }
    assert build_coordinator_batch(pairs, **fields) == build_batch(pairs, **fields)
