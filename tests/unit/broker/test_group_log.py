"""Reading a coordinator's log, with the transactions that a Kafka log may hold."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from headrace.broker.group_log import GroupLogReader
from headrace.coordination.shard import CoordinatorRecord
from headrace.records.build import build_batch

if TYPE_CHECKING:
    import pytest

MANY = 1_000


def reader(*batches: bytes | bytearray) -> GroupLogReader:
    source: Any = SimpleNamespace(records_from=lambda: iter(batches), partition="log-0")
    return GroupLogReader(source)


def keys(records: list[CoordinatorRecord] | None) -> list[bytes]:
    return [record.key for record in records or ()]


def plain(*names: bytes) -> bytearray:
    return build_batch([(name, b"") for name in names], timestamp_ms=1)


def transactional(producer_id: int, *names: bytes) -> bytearray:
    return build_batch(
        [(name, b"") for name in names],
        timestamp_ms=1,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=0,
        transactional=True,
    )


def marker(producer_id: int, *, commit: bool) -> bytearray:
    return build_batch(
        [(bytes([0, 0, 0, commit]), bytes(6))],
        timestamp_ms=1,
        producer_id=producer_id,
        producer_epoch=0,
        transactional=True,
        control=True,
    )


def test_log_is_read_in_slices() -> None:
    source = reader(plain(b"a", b"b"), plain(b"c"), plain(b"d"))
    assert keys(source.read(1)) == [b"a", b"b"]
    assert keys(source.read(2)) == [b"c", b"d"]
    assert source.read(2) is None


def test_records_without_a_key_are_left_out() -> None:
    batch = build_batch([(None, b"?"), (b"a", None)], timestamp_ms=1)
    assert reader(batch).read(MANY) == [CoordinatorRecord(b"a", None)]


def test_transaction_counts_when_it_is_committed() -> None:
    source = reader(
        transactional(7, b"a"),
        transactional(8, b"x"),
        plain(b"b"),
        transactional(7, b"c"),
        marker(7, commit=True),
        marker(8, commit=False),
        marker(9, commit=True),
    )
    assert keys(source.read(MANY)) == [b"b", b"a", b"c"]
    assert source.read(MANY) is None


def test_unfinished_transaction_is_left_out_and_told(caplog: pytest.LogCaptureFixture) -> None:
    assert reader(transactional(7, b"a")).read(MANY) is None
    assert "1 unfinished transactions" in caplog.text
