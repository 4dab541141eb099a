"""Transactions under a crash at every single operation of the disk.

Whatever happens, a transaction counts in all its partitions or in none; what was acknowledged is
so; and once the time-outs are over nothing is open any more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.coordination.transactions.commands import AddOffsets
from headrace.model.errors import HeadraceError
from headrace.testing.faulty_disk import SimulatedCrash
from headrace.testing.transaction_door import (
    TransactionalProducer,
    TransactionDoor,
    committed_values,
)

if TYPE_CHECKING:
    from collections.abc import Callable

TRANSACTIONS = 3
PARTITIONS = 2
TIMEOUT_MS = 10_000
OPERATIONS_MAX = 200


class Work:
    """Some transactions, every third aborted on purpose, and what the client was told of them."""

    def __init__(self, door: TransactionDoor, client_version: int) -> None:
        self.door = door
        self.client_version = client_version
        self.committed: list[bytes] = []
        self.aborted: list[bytes] = []

    def run(self) -> None:
        producer = TransactionalProducer(
            self.door, client_version=self.client_version, timeout_ms=TIMEOUT_MS
        ).initialise()
        place = self.door.groups.partition_of_group("group").partition
        for number in range(TRANSACTIONS):
            value = b"%d" % number
            if self.client_version < 2:
                producer.add(*(("orders", index) for index in range(PARTITIONS)))
            for index in range(PARTITIONS):
                producer.send("orders", index, value)
            self.door.submit("t", AddOffsets("t", producer.identity, place))
            if number % 3 == 1:
                producer.abort()
                self.aborted.append(value)
            else:
                producer.commit()
                self.committed.append(value)


def prepared_door(durability: str) -> TransactionDoor:
    door = TransactionDoor({"durability": durability, "offsets.topic.num.partitions": "1"})
    door.bench.create("orders", PARTITIONS)
    door.transactions.prepare("t")
    door.groups.partition_of_group("group")
    door.bench.settle()
    return door


def crashed(durability: str, client_version: int, operation: int, *, power_loss: bool) -> bool:
    """Run with a crash in this operation, start again and judge; False if there was no crash."""
    door = prepared_door(durability)
    work = Work(door, client_version)
    door.bench.disk.crash_at(operation)
    has_crashed = False
    try:
        work.run()
    except SimulatedCrash:
        has_crashed = True
    door.crash(power_loss=power_loss)
    judge(door, work)
    return has_crashed


def judge(door: TransactionDoor, work: Work) -> None:
    door.pass_seconds(TIMEOUT_MS / 1000 + 5)
    views = [committed_values(door.log("orders", index)) for index in range(PARTITIONS)]
    assert views[0] == views[1], "a transaction counts in all its partitions or in none"
    assert views[0][: len(work.committed)] == work.committed, "what was acknowledged is there"
    assert not set(work.aborted) & set(views[0]), "what was aborted is never shown"
    for index in range(PARTITIONS):
        log = door.log("orders", index)
        assert log.last_stable_offset == log.log_end_offset, "nothing stays open"
    successor = TransactionalProducer(door).initialise()
    successor.send("orders", 0, b"next")
    successor.commit()
    assert committed_values(door.log("orders", 0))[-1] == b"next"


@pytest.mark.parametrize("client_version", [pytest.param(0, marks=pytest.mark.slow), 2])
@pytest.mark.parametrize(
    ("durability", "power_loss"),
    [
        ("page-cache", False),
        pytest.param("fsync", False, marks=pytest.mark.slow),
        pytest.param("fsync", True, marks=pytest.mark.slow),
    ],
)
def test_no_crash_tears_a_transaction(
    durability: str,
    power_loss: bool,
    client_version: int,
    simulation_counts: Callable[[str, int], None],
) -> None:
    for operation in range(OPERATIONS_MAX):
        if not crashed(durability, client_version, operation, power_loss=power_loss):
            assert operation > 10, "the work has more operations than that"
            simulation_counts("transaction simulation: crash points", operation)
            return
    pytest.fail(f"the work does not end within {OPERATIONS_MAX} operations")


@pytest.mark.parametrize("client_version", [0, 2])
def test_no_refusal_of_the_disk_tears_a_transaction(
    client_version: int, simulation_counts: Callable[[str, int], None]
) -> None:
    door = prepared_door("page-cache")
    before = door.bench.disk.operations
    Work(door, client_version).run()
    operations = door.bench.disk.operations - before
    assert operations > 10
    refusals = 0
    simulation_counts("transaction simulation: refused operations", operations)
    for operation in range(operations):
        door = prepared_door("page-cache")
        work = Work(door, client_version)
        door.bench.disk.fail_at(operation)
        try:
            work.run()
        except HeadraceError:
            refusals += 1
        judge(door, work)
    assert refusals > 0
