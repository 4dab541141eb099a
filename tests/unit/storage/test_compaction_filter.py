"""What stays of a batch."""

from __future__ import annotations

import struct

import pytest

from headrace.model.errors import CorruptRecord
from headrace.records.build import build_batch, build_empty_batch
from headrace.records.compression import Compression
from headrace.records.decode import decode_records
from headrace.records.header import read_header
from headrace.records.record import Record
from headrace.storage.compaction_filter import (
    BatchFilter,
    KeyMap,
    LastBatch,
    TransactionTracker,
)
from headrace.storage.transaction_index import AbortedTransaction

NOW_MS = 1_000_000
RETENTION_MS = 5_000
COMMIT, ABORT = struct.pack(">hh", 0, 1), struct.pack(">hh", 0, 0)
MARKER_VALUE = struct.pack(">hi", 0, 0)


def key_map(offsets: dict[bytes, int], latest_offset: int = 100) -> KeyMap:
    keys = KeyMap()
    for key, offset in offsets.items():
        keys.put(key, offset)
    keys.latest_offset = latest_offset
    return keys


def rules(
    keys: KeyMap | None = None,
    aborted: tuple[AbortedTransaction, ...] = (),
    last: dict[int, LastBatch] | None = None,
    now_ms: int = NOW_MS,
) -> BatchFilter:
    return BatchFilter(
        keys or key_map({}),
        TransactionTracker(aborted),
        last or {},
        now_ms=now_ms,
        delete_retention_ms=RETENTION_MS,
        decompressed_bytes_max=1 << 20,
    )


def marker(kind: bytes, offset: int, producer_id: int = 7) -> bytearray:
    return build_batch(
        [(kind, MARKER_VALUE)],
        base_offset=offset,
        timestamp_ms=1,
        producer_id=producer_id,
        producer_epoch=0,
        control=True,
        transactional=True,
    )


def data(offset: int, producer_id: int = 7, **fields: int) -> bytearray:
    return build_batch(
        [(b"k", b"v")],
        base_offset=offset,
        timestamp_ms=1,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=0,
        **{"transactional": True, **fields},  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("codec", list(Compression))
def test_superseded_records_go_and_offsets_stay(codec: Compression) -> None:
    batch = build_batch(
        [(b"a", b"1"), (b"b", b"2"), (b"c", b"3")],
        base_offset=10,
        timestamp_ms=5,
        compression=codec,
    )
    kept = rules(key_map({b"a": 10, b"b": 50, b"c": 12})).clean(batch)
    assert kept is not None
    assert decode_records(kept) == [Record(10, 5, b"a", b"1"), Record(12, 5, b"c", b"3")]
    header = read_header(kept)
    assert (header.base_offset, header.last_offset, header.compression) == (10, 12, codec)


def test_an_untouched_batch_is_the_same_object() -> None:
    batch = build_batch([(b"a", b"1")], base_offset=10)
    assert rules(key_map({b"a": 10})).clean(batch) is batch


def test_nothing_is_left_of_a_superseded_batch() -> None:
    assert rules(key_map({b"a": 11})).clean(build_batch([(b"a", b"1")], base_offset=10)) is None


def test_records_after_the_mapped_part_all_stay() -> None:
    batch = build_batch([(b"a", b"1"), (b"a", b"2")], base_offset=10)
    assert rules(key_map({b"a": 9}, latest_offset=9)).clean(batch) is batch


def test_records_without_key_go() -> None:
    assert rules().clean(build_batch([(None, b"1")], base_offset=10)) is None


def test_a_tombstone_gets_a_horizon_and_goes_after_it() -> None:
    batch = build_batch([(b"a", None), (b"b", b"x")], base_offset=10, timestamp_ms=77)
    first = rules(key_map({b"a": 10, b"b": 11})).clean(batch)
    assert first is not None
    assert read_header(first).delete_horizon_ms == NOW_MS + RETENTION_MS
    assert [record.timestamp_ms for record in decode_records(first)] == [77, 77]
    assert rules(now_ms=NOW_MS + RETENTION_MS - 1).clean(first) is first
    second = rules(now_ms=NOW_MS + RETENTION_MS).clean(first)
    assert second is not None
    assert [record.key for record in decode_records(second)] == [b"b"]


def test_the_last_batch_of_a_producer_stays_as_an_empty_one() -> None:
    batch = data(10, transactional=False)
    keys = key_map({b"k": 50})
    kept = rules(keys, last={7: LastBatch(10, 0)}).clean(batch)
    assert kept is not None
    assert read_header(kept).record_count == 0
    assert read_header(kept).last_sequence == read_header(batch).last_sequence
    assert rules(keys, last={7: LastBatch(10, 0)}).clean(kept) is kept
    assert rules(keys, last={7: LastBatch(60, 0)}).clean(kept) is None
    assert rules(keys).clean(build_empty_batch(read_header(batch))) is None


def test_aborted_data_goes_and_its_marker_stays_with_the_index_entry() -> None:
    aborted = AbortedTransaction(7, 10, 12, 13)
    cleaner = rules(aborted=(aborted,))
    assert cleaner.clean(data(10)) is None
    assert cleaner.clean(data(11, producer_id=8)) is not None
    end = marker(ABORT, 12)
    assert cleaner.clean(end) is end
    assert cleaner.transactions.kept == [aborted]
    committed = data(13)
    assert cleaner.clean(committed) is committed


def test_an_idle_marker_gets_a_horizon_and_goes_after_it() -> None:
    for kind in (ABORT, COMMIT):
        cleaner = rules()
        kept = cleaner.clean(marker(kind, 12))
        assert kept is not None
        assert read_header(kept).delete_horizon_ms == NOW_MS + RETENTION_MS
        assert cleaner.transactions.kept == []
        assert rules(now_ms=NOW_MS + RETENTION_MS).clean(kept) is None


def test_a_commit_marker_stays_untouched_while_its_data_is_there() -> None:
    cleaner = rules()
    assert cleaner.clean(data(10)) is not None
    end = marker(COMMIT, 11)
    assert cleaner.clean(end) is end
    assert read_header(cleaner.clean(marker(COMMIT, 12)) or b"").delete_horizon_ms is not None


def test_the_marker_stays_as_an_empty_batch_if_it_is_all_a_producer_has() -> None:
    expired = build_batch(
        [(ABORT, MARKER_VALUE)],
        base_offset=12,
        producer_id=7,
        producer_epoch=3,
        control=True,
        transactional=True,
        delete_horizon_ms=1,
    )
    kept = rules(last={7: LastBatch(-1, 3)}).clean(expired)
    assert kept is not None
    assert read_header(kept).record_count == 0
    assert rules(last={7: LastBatch(-1, 4)}).clean(expired) is None


def test_log_append_time_and_other_fields_survive_a_rebuild() -> None:
    batch = build_batch(
        [(b"a", b"1"), (b"b", b"2")],
        base_offset=10,
        timestamp_ms=3,
        log_append_time_ms=90,
        producer_id=7,
        producer_epoch=2,
        base_sequence=4,
        leader_epoch=6,
    )
    kept = rules(key_map({b"a": 50})).clean(batch)
    assert kept is not None
    assert decode_records(kept) == [Record(11, 90, b"b", b"2")]
    before, after = read_header(batch), read_header(kept)
    assert after.is_log_append_time
    assert (after.producer_id, after.producer_epoch, after.base_sequence) == (7, 2, 4)
    assert (after.leader_epoch, after.last_sequence) == (6, before.last_sequence)


def test_damage_is_never_copied_on() -> None:
    batch = build_batch([(b"a", b"1")], base_offset=10)
    batch[-1] ^= 1
    with pytest.raises(CorruptRecord):
        rules().clean(batch)


def test_the_key_map_has_a_limit_and_tells_long_keys_apart() -> None:
    keys = KeyMap(keys_max=3)
    assert keys.has_room_for(100)
    keys.put(b"x" * 100, 1)
    keys.put(b"x" * 99 + b"y", 2)
    assert len(keys) == 2
    assert keys.has_room_for(1)
    assert not keys.has_room_for(2)
    assert keys.is_latest(b"x" * 100, 1)
    assert not keys.is_latest(b"x" * 99 + b"y", 1)
    assert keys.is_latest(b"unknown", 0)
