"""A shard over a log that somebody else may have written: prepared ends, damage, great numbers."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.broker import transaction_shards
from headrace.broker.groups import partition_of
from headrace.coordination.shard import CoordinatorRecord
from headrace.coordination.transactions.commands import DescribeTransaction, EndTransaction
from headrace.coordination.transactions.record_codec import transaction_key, transaction_record
from headrace.coordination.transactions.records import Transaction
from headrace.coordination.transactions.states import TransactionState
from headrace.model.errors import InternalError, LimitReached
from headrace.model.topic import TRANSACTION_STATE_TOPIC, TopicPartition
from headrace.records.build import build_batch
from headrace.records.header import stamp_crc
from headrace.storage.log_port import Origin
from headrace.testing.transaction_door import (
    TransactionalProducer,
    TransactionDoor,
    committed_values,
)

PARTITIONS = 5


@pytest.fixture
def door() -> TransactionDoor:
    door = TransactionDoor()
    door.bench.create("orders", PARTITIONS)
    return door


def write_state(door: TransactionDoor, *records: CoordinatorRecord) -> None:
    """Straight into the log of the id ``t``; read at the next start."""
    log = door.log(TRANSACTION_STATE_TOPIC, partition_of("t", 2))
    batch = build_batch(list(records), timestamp_ms=door.bench.clock.now_ms())
    door.bench.logs.append([(log, batch)], origin=Origin.COORDINATOR)


def begun(door: TransactionDoor) -> TransactionalProducer:
    producer = TransactionalProducer(door, client_version=0).initialise()
    producer.add(*(("orders", index) for index in range(PARTITIONS)))
    for index in range(PARTITIONS):
        producer.send("orders", index, b"%d" % index)
    return producer


def prepared(producer: TransactionalProducer, state: TransactionState) -> CoordinatorRecord:
    """As Kafka writes it before it sends markers to anybody."""
    now_ms = producer.door.bench.clock.now_ms()
    return transaction_record(
        Transaction(
            "t",
            *producer.identity,
            timeout_ms=producer.timeout_ms,
            updated_ms=now_ms,
            state=state,
            partitions=frozenset(TopicPartition("orders", i) for i in range(PARTITIONS)),
            start_ms=now_ms,
        )
    )


def shown(door: TransactionDoor) -> list[list[bytes | None]]:
    return [committed_values(door.log("orders", index)) for index in range(PARTITIONS)]


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (TransactionState.PREPARE_COMMIT, [[b"%d" % index] for index in range(PARTITIONS)]),
        (TransactionState.PREPARE_ABORT, [[] for _ in range(PARTITIONS)]),
    ],
)
def test_what_kafka_had_decided_is_carried_out_at_the_start(
    door: TransactionDoor, state: TransactionState, expected: list[Any]
) -> None:
    write_state(door, prepared(begun(door), state))
    door.crash()
    door.pass_seconds(0.1)
    assert shown(door) == expected
    assert all(door.log("orders", i).last_stable_offset == 2 for i in range(PARTITIONS))
    assert door.submit("t", DescribeTransaction("t")).state.startswith("Complete")


def test_what_kafka_had_decided_is_no_time_out(door: TransactionDoor) -> None:
    write_state(door, prepared(begun(door), TransactionState.PREPARE_ABORT))
    door.crash()
    assert door.transactions.open_transactions().by_state["PrepareAbort"] == 1
    door.pass_seconds(0.1)
    assert door.counters.by_result() == {"committed": 0, "aborted": 1, "timed_out": 0}


def test_batch_that_makes_no_sense_is_left_out(
    door: TransactionDoor, caplog: pytest.LogCaptureFixture
) -> None:
    producer = begun(door)
    batch = build_batch([(b"key", b"value")], timestamp_ms=door.bench.clock.now_ms())
    batch[-1] = 0x7E  # so many headers, of which there is none
    stamp_crc(batch, 0, len(batch))
    log = door.log(TRANSACTION_STATE_TOPIC, partition_of("t", 2))
    door.bench.logs.append([(log, batch)])
    door.restart()
    assert "left out a batch" in caplog.text
    producer.commit()
    assert shown(door) == [[b"%d" % index] for index in range(PARTITIONS)]


def test_prepared_end_that_fits_into_no_append_is_written_in_parts(
    door: TransactionDoor, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_state(door, prepared(begun(door), TransactionState.PREPARE_COMMIT))
    monkeypatch.setattr(transaction_shards, "ENTRIES_MAX", 2)
    door.crash()
    door.pass_seconds(0.1)
    assert shown(door) == [[b"%d" % index] for index in range(PARTITIONS)]
    assert [door.log("orders", i).log_end_offset for i in range(PARTITIONS)] == [2] * PARTITIONS


def test_open_transaction_that_fits_into_no_append_does_not_end_by_halves(
    door: TransactionDoor, monkeypatch: pytest.MonkeyPatch
) -> None:
    producer = begun(door)
    monkeypatch.setattr(transaction_shards, "ENTRIES_MAX", 2)
    reply = door.submit("t", EndTransaction("t", producer.identity, True))
    assert isinstance(reply, InternalError)
    assert isinstance(reply.__cause__, LimitReached)
    assert [door.log("orders", i).log_end_offset for i in range(PARTITIONS)] == [1] * PARTITIONS
    monkeypatch.undo()
    producer.commit()
    assert shown(door) == [[b"%d" % index] for index in range(PARTITIONS)]


def test_damaged_and_unknown_records_are_left_out(
    door: TransactionDoor, caplog: pytest.LogCaptureFixture
) -> None:
    producer = begun(door)
    producer.commit()
    write_state(
        door,
        CoordinatorRecord(transaction_key("t"), b"\x00\x09nonsense"),
        CoordinatorRecord(b"\x00\x07of another kind", b"x"),
    )
    with caplog.at_level("INFO"):
        door.crash()
    assert "left out a record" in caplog.text
    assert "left 1 records of unknown kinds alone" in caplog.text
    assert door.submit("t", DescribeTransaction("t")).state == "CompleteCommit"


def test_tombstone_forgets_the_id(door: TransactionDoor) -> None:
    begun(door).commit()
    write_state(door, CoordinatorRecord(transaction_key("t"), None))
    door.crash()
    assert TransactionalProducer(door).initialise().identity.epoch == 0


def test_answer_waits_for_the_medium() -> None:
    door = TransactionDoor({"durability": "fsync"})
    door.bench.create("orders", PARTITIONS)
    door.bench.settle()
    producer = begun(door)
    replies: list[Any] = []
    command = EndTransaction("t", producer.identity, True)
    door.transactions.submit("t", command, replies.append)
    assert replies == []
    assert shown(door) == [[] for _ in range(PARTITIONS)], "readers wait as well"
    door.bench.settle()
    assert replies == [producer.identity]
    assert shown(door) == [[b"%d" % index] for index in range(PARTITIONS)]
