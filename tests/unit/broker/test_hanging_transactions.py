"""Transactions that no coordinator knows of are aborted, by the broker or by an operator."""

from __future__ import annotations

import pytest

from headrace.broker.hanging_transactions import ForeignMarker
from headrace.model.errors import (
    InvalidProducerEpoch,
    StorageFailure,
    TransactionCoordinatorFenced,
    UnknownTopicOrPartition,
)
from headrace.model.topic import TRANSACTION_STATE_TOPIC, TopicPartition
from headrace.records.build import build_batch
from headrace.testing.transaction_door import (
    TransactionalProducer,
    TransactionDoor,
    committed_values,
)

ORDERS = TopicPartition("orders", 0)
PRODUCER_ID = 4711


@pytest.fixture
def door() -> TransactionDoor:
    door = TransactionDoor()
    door.bench.create("orders")
    return door


def leave_hanging(door: TransactionDoor, *, epoch: int = 3, topic: str = "orders") -> None:
    """A transaction as a log from elsewhere may hold it."""
    batch = build_batch(
        [(b"key", b"hanging")],
        timestamp_ms=door.bench.clock.now_ms(),
        producer_id=PRODUCER_ID,
        producer_epoch=epoch,
        base_sequence=0,
        transactional=True,
    )
    door.bench.logs.append([(door.log(topic), batch)])


def test_hanging_transaction_is_aborted_at_the_start(
    door: TransactionDoor, caplog: pytest.LogCaptureFixture
) -> None:
    leave_hanging(door)
    door.crash()
    log = door.log("orders")
    assert log.last_stable_offset == log.log_end_offset == 2
    assert committed_values(log) == []
    assert log.aborted_transactions(0, 2) == [(PRODUCER_ID, 0)]
    assert "orders-0: aborted the transaction of producer 4711 at offset 0" in caplog.text


def test_coordinated_transaction_is_left_alone(door: TransactionDoor) -> None:
    producer = TransactionalProducer(door).initialise()
    producer.send("orders")
    leave_hanging(door)
    door.crash()
    assert door.log("orders").last_stable_offset == 0
    producer.commit()
    assert committed_values(door.log("orders")) == [b"value"]


def test_partition_that_was_never_added_hangs(door: TransactionDoor) -> None:
    """Its producer has a transaction, but the end of that one would not reach this partition."""
    door.bench.create("other")
    producer = TransactionalProducer(door).initialise()
    producer.send("other")
    batch = build_batch(
        [(b"key", b"late")],
        producer_id=producer.identity.producer_id,
        producer_epoch=producer.identity.epoch,
        base_sequence=0,
        transactional=True,
    )
    door.bench.logs.append([(door.log("orders"), batch)])
    door.crash()
    assert (door.log("orders").last_stable_offset, door.log("other").last_stable_offset) == (2, 0)


def test_full_disk_leaves_it_for_the_next_start(
    door: TransactionDoor, caplog: pytest.LogCaptureFixture
) -> None:
    leave_hanging(door)
    door.bench.disk.fail_next("write", StorageFailure("no space left"))
    assert door.transactions.hanging.abort_all() == 0
    assert "orders-0: a transaction stays open" in caplog.text
    assert door.transactions.hanging.abort_all() == 1
    assert door.transactions.hanging.abort_all() == 0


def test_operator_ends_what_hangs(door: TransactionDoor) -> None:
    leave_hanging(door)
    marker = ForeignMarker(PRODUCER_ID, 3, is_commit=True, coordinator_epoch=0)
    door.transactions.hanging.end(ORDERS, marker)
    assert committed_values(door.log("orders")) == [b"hanging"]
    end_offset = door.log("orders").log_end_offset
    assert door.transactions.hanging.end(ORDERS, marker) == 0
    assert door.log("orders").log_end_offset == end_offset, "it had ended already"


def test_marker_for_an_unknown_producer_changes_nothing(door: TransactionDoor) -> None:
    marker = ForeignMarker(1, 32_767, is_commit=False, coordinator_epoch=9)
    assert door.transactions.hanging.end(ORDERS, marker) == 0
    assert door.log("orders").log_end_offset == 0


def test_what_is_coordinated_is_for_the_coordinator_to_end(door: TransactionDoor) -> None:
    producer = TransactionalProducer(door).initialise()
    producer.send("orders")
    producer_id, epoch = producer.identity
    marker = ForeignMarker(producer_id, epoch, is_commit=True, coordinator_epoch=99)
    with pytest.raises(TransactionCoordinatorFenced):
        door.transactions.hanging.end(ORDERS, marker)
    producer.abort()
    assert committed_values(door.log("orders")) == []


def test_stale_marker_is_refused(door: TransactionDoor) -> None:
    leave_hanging(door)
    hanging = door.transactions.hanging
    with pytest.raises(InvalidProducerEpoch):
        hanging.end(ORDERS, ForeignMarker(PRODUCER_ID, 2, False, 0))
    hanging.end(ORDERS, ForeignMarker(PRODUCER_ID, 3, False, coordinator_epoch=5))
    leave_hanging(door, epoch=4)
    with pytest.raises(TransactionCoordinatorFenced):
        hanging.end(ORDERS, ForeignMarker(PRODUCER_ID, 4, False, coordinator_epoch=4))
    with pytest.raises(UnknownTopicOrPartition):
        hanging.end(TopicPartition("orders", 7), ForeignMarker(PRODUCER_ID, 4, False, 5))


def test_groups_hear_of_markers_in_their_topic(
    door: TransactionDoor, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = door.groups.partition_of_group("group")
    told: list[tuple[int, int, int, bool]] = []
    monkeypatch.setattr(door.groups, "transaction_ended", lambda *end: told.append(end))
    batch = build_batch(
        [(b"key", b"x")],
        producer_id=PRODUCER_ID,
        producer_epoch=0,
        base_sequence=0,
        transactional=True,
    )
    door.bench.logs.append([(door.log(*place), batch)])
    assert door.transactions.hanging.abort_all() == 1
    assert told == [(place.partition, PRODUCER_ID, 0, False)]
    assert TRANSACTION_STATE_TOPIC not in door.bench.topics
