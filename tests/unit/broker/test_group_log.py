"""Reading a coordinator's log, with transactions as Kafka and we write them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.broker.group_log import GroupLogReader
from headrace.coordination.groups.transactional_records import PendingRecord, TransactionEnded
from headrace.coordination.shard import CoordinatorRecord
from headrace.records.build import build_batch
from headrace.records.header import stamp_crc

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

MANY = 1_000


class FakeLog:
    """Batches in a list; each takes as many offsets as it says."""

    def __init__(self, *batches: bytearray) -> None:
        self.partition = "log-0"
        self.log_start_offset = self.log_end_offset = 0
        self.batches: list[tuple[int, bytes]] = []
        for batch in batches:
            self.append(batch)

    def append(self, batch: bytearray, skipped_offsets: int = 0) -> None:
        base_offset = self.log_end_offset + skipped_offsets
        batch[:8] = base_offset.to_bytes(8, "big")
        self.batches.append((base_offset, bytes(batch)))
        self.log_end_offset = base_offset + int.from_bytes(batch[23:27], "big") + 1

    def records_from(self, offset: int = 0) -> Iterator[bytes]:
        yield from [batch for base_offset, batch in self.batches if base_offset >= offset]


def reader(*batches: bytearray) -> GroupLogReader:
    source: Any = FakeLog(*batches)
    return GroupLogReader(source)


def told(entries: list[Any] | None) -> list[object]:
    """Keys of plain records, (producer, key) of those that wait, markers as they are."""
    return [
        (entry.producer_id, entry.key)
        if isinstance(entry, PendingRecord)
        else entry.key
        if isinstance(entry, CoordinatorRecord)
        else entry
        for entry in entries or ()
    ]


def plain(*names: bytes) -> bytearray:
    return build_batch([(name, b"") for name in names], timestamp_ms=1)


def transactional(producer_id: int, *names: bytes) -> bytearray:
    return build_batch(
        [(name, b"") for name in names],
        timestamp_ms=1,
        producer_id=producer_id,
        producer_epoch=3,
        transactional=True,
    )


def marker(producer_id: int, *, commit: bool, value: bytes = bytes(6)) -> bytearray:
    return build_batch(
        [(bytes([0, 0, 0, commit]), value)],
        timestamp_ms=1,
        producer_id=producer_id,
        producer_epoch=0,
        transactional=True,
        control=True,
    )


def test_log_is_read_in_slices() -> None:
    source = reader(plain(b"a", b"b"), plain(b"c"), plain(b"d"))
    assert told(source.read(1)) == [b"a", b"b"]
    assert told(source.read(2)) == [b"c", b"d"]
    assert source.read(2) is None


def test_records_without_a_key_are_left_out() -> None:
    batch = build_batch([(None, b"?"), (b"a", None)], timestamp_ms=1)
    assert reader(batch).read(MANY) == [CoordinatorRecord(b"a", None)]


def test_parts_of_transactions_come_in_the_order_of_the_log() -> None:
    source = reader(
        transactional(7, b"a"),
        plain(b"b"),
        transactional(8, b"x", b"y"),
        marker(7, commit=True),
        marker(8, commit=False),
    )
    assert told(source.read(MANY)) == [
        (7, b"a"),
        b"b",
        (8, b"x"),
        (8, b"y"),
        TransactionEnded(7, is_commit=True),
        TransactionEnded(8, is_commit=False),
    ]
    assert source.read(MANY) is None


def test_record_of_a_transaction_bears_the_epoch() -> None:
    (record,) = reader(transactional(7, b"a")).read(MANY) or ()
    assert isinstance(record, PendingRecord)
    assert record.producer_epoch == 3


def test_what_is_appended_while_reading_is_read_once() -> None:
    log: Any = FakeLog(plain(b"a"), plain(b"b"))
    source = GroupLogReader(log)
    assert told(source.read(1)) == [b"a"]
    log.append(plain(b"c"))
    assert told(source.read(MANY)) == [b"b", b"c"]
    log.append(marker(7, commit=True))
    assert told(source.read(MANY)) == [TransactionEnded(7, is_commit=True)]
    assert source.read(MANY) is None


def test_offsets_that_compaction_took_at_the_end_are_not_waited_for() -> None:
    log: Any = FakeLog(plain(b"a"))
    log.log_end_offset = 10
    source = GroupLogReader(log)
    assert told(source.read(MANY)) == [b"a"]
    assert source.read(MANY) is None
    log.append(plain(b"b"), skipped_offsets=2)
    assert told(source.read(MANY)) == [b"b"]
    assert source.read(MANY) is None


def test_marker_that_cannot_be_read_is_left_out_and_told(caplog: pytest.LogCaptureFixture) -> None:
    source = reader(marker(7, commit=True, value=b""), plain(b"a"))
    assert told(source.read(MANY)) == [b"a"]
    assert "left out a marker" in caplog.text


def test_control_batches_of_other_kinds_are_left_alone() -> None:
    snapshot = build_batch([(bytes([0, 0, 0, 3]), b"")], timestamp_ms=1, control=True)
    assert told(reader(snapshot, plain(b"a")).read(MANY)) == [b"a"]


def test_batch_that_makes_no_sense_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    senseless = plain(b"x")
    senseless[-1] = 0x7E  # so many headers, of which there is none
    stamp_crc(senseless, 0, len(senseless))
    assert told(reader(plain(b"a"), senseless, plain(b"b")).read(MANY)) == [b"a", b"b"]
    assert "log-0: left out a batch" in caplog.text
