"""The marker that ends a transaction, as it is built and as it is read."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.model.errors import CorruptRecord
from headrace.records.build import build_batch
from headrace.records.decode import decode_records
from headrace.records.header import read_header
from headrace.storage.control_batch import EndMarker, build_end_marker, read_end_marker


@pytest.mark.parametrize("is_commit", [True, False])
def test_marker_is_read_as_it_was_built(is_commit: bool) -> None:
    batch = build_end_marker(7, 3, is_commit=is_commit, coordinator_epoch=5, timestamp_ms=1_000)
    assert read_end_marker(batch) == EndMarker(is_abort=not is_commit, coordinator_epoch=5)
    header = read_header(batch)
    assert header.is_control
    assert header.is_transactional
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 3, -1)
    assert (header.record_count, header.max_timestamp) == (1, 1_000)


@given(
    st.integers(0, 2**63 - 1),
    st.integers(0, 2**15 - 1),
    st.booleans(),
    st.integers(0, 2**31 - 1),
    st.integers(0, 2**62),
)
def test_bytes_are_those_that_any_batch_of_this_record_has(
    producer_id: int, producer_epoch: int, is_commit: bool, coordinator_epoch: int, now_ms: int
) -> None:
    built = build_end_marker(
        producer_id,
        producer_epoch,
        is_commit=is_commit,
        coordinator_epoch=coordinator_epoch,
        timestamp_ms=now_ms,
    )
    record = (struct.pack(">hh", 0, is_commit), struct.pack(">hi", 0, coordinator_epoch))
    assert built == build_batch(
        [record],
        timestamp_ms=now_ms,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transactional=True,
        control=True,
    )


def test_bytes_are_those_of_kafka() -> None:
    batch = build_end_marker(7, 3, is_commit=True, coordinator_epoch=5, timestamp_ms=1_000)
    (record,) = decode_records(batch)
    assert (record.key, record.value) == (b"\0\0\0\1", b"\0\0\0\0\0\5")


@pytest.mark.parametrize(
    ("key", "value"), [(None, b"\0\0\0\0\0\5"), (b"\0\0", b""), (b"\0\0\0\1", None)]
)
def test_broken_marker_is_named(key: bytes | None, value: bytes | None) -> None:
    batch = build_batch([(key, value)], timestamp_ms=0, control=True, producer_id=1)
    with pytest.raises(CorruptRecord):
        read_end_marker(batch)


def test_control_record_of_another_kind_is_no_marker() -> None:
    batch = build_batch([(b"\0\0\0\2", b"")], timestamp_ms=0, control=True)
    assert read_end_marker(batch) is None
