"""The marker that ends a transaction, as it is built and as it is read."""

from __future__ import annotations

import pytest

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
