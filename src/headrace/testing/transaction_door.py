"""The doors to groups and transactions over a simulated disk, and a producer to send through them.

``restart`` and ``crash`` are a new process over what the old one left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.broker.features import Features
from headrace.broker.transactions import Transactions
from headrace.coordination.transactions.commands import (
    AddPartitions,
    EndTransaction,
    InitProducerId,
    ProducerIdentity,
)
from headrace.metrics.registry import TransactionCounters
from headrace.model.errors import HeadraceError
from headrace.model.topic import TopicPartition
from headrace.records.build import build_batch
from headrace.records.decode import decode_records
from headrace.records.header import read_header
from headrace.storage.control_batch import read_end_marker
from headrace.testing.group_door import GroupDoor

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.storage.log_port import Log

SETTINGS = {"transaction.state.log.num.partitions": "2"}
TIMEOUT_MS = 60_000


class TransactionDoor(GroupDoor):
    """``submit`` asks the transactions' door; the reply must come as soon as the disk is done."""

    transactions: Transactions
    counters: TransactionCounters

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        super().__init__({**SETTINGS, **(settings or {})})

    def open(self) -> None:
        super().open()
        self.counters = TransactionCounters()
        bench = self.bench
        self.transactions = Transactions(
            bench.topics,
            bench.changes,
            bench.logs,
            bench.configurations,
            Features(bench.store),
            bench.producer_ids,
            self.groups,
            bench.clock,
            bench.background,
            self.counters,
        )
        self.transactions.start()

    def restart(self) -> None:
        self.transactions.close()
        super().restart()

    def crash(self, *, power_loss: bool = False) -> None:
        """Without a clean stop; with ``power_loss`` only what was synced is left."""
        self.bench.restart(clean=False, power_loss=power_loss)
        self.open()

    def context(self, version: int) -> Any:
        context = super().context(version)
        context.broker.transactions = self.transactions
        context.broker.features = Features(self.bench.store)
        return context

    def submit(self, transactional_id: str, command: Any) -> Any:
        replies: list[Any] = []
        self.transactions.submit(transactional_id, command, replies.append)
        self.bench.settle()
        assert len(replies) == 1, "the request is still waiting"
        return replies[0]

    def log(self, topic: str, partition: int = 0) -> Log:
        found = self.bench.topics.partition(topic, partition)
        assert found is not None, f"there is no partition {topic}-{partition}"
        return found.log


class TransactionalProducer:
    """What a client does, call by call; errors are raised."""

    def __init__(
        self,
        door: TransactionDoor,
        transactional_id: str = "t",
        *,
        client_version: int = 2,
        timeout_ms: int = TIMEOUT_MS,
    ) -> None:
        self.door = door
        self.transactional_id = transactional_id
        self.client_version = client_version
        self.timeout_ms = timeout_ms
        self.identity = ProducerIdentity(-1, -1)
        self._sequences: dict[TopicPartition, int] = {}

    def initialise(self) -> TransactionalProducer:
        self._take(self._ask(InitProducerId(self.transactional_id, self.timeout_ms)))
        return self

    def add(self, *addresses: tuple[str, int]) -> None:
        """As a client of version 0 or 1 does before it writes."""
        partitions = frozenset(TopicPartition(*address) for address in addresses)
        self._ask(AddPartitions(self.transactional_id, self.identity, partitions))

    def send(self, topic: str, partition: int = 0, *values: bytes) -> int:
        """Enlist and write one batch; its base offset."""
        address = TopicPartition(topic, partition)
        refused = self.door.transactions.enlist(
            self.transactional_id, self.identity, frozenset({address}), self.client_version
        )
        if refused:
            raise refused[address]
        records = [(b"key", value) for value in values or (b"value",)]
        sequence = self._sequences.get(address, 0)
        self._sequences[address] = sequence + len(records)
        batch = build_batch(
            records,
            timestamp_ms=self.door.bench.clock.now_ms(),
            producer_id=self.identity.producer_id,
            producer_epoch=self.identity.epoch,
            base_sequence=sequence,
            transactional=True,
        )
        appended = self.door.bench.logs.append([(self.door.log(topic, partition), batch)])
        return appended[0].base_offset

    def commit(self) -> None:
        self._end(is_commit=True)

    def abort(self) -> None:
        self._end(is_commit=False)

    def _end(self, *, is_commit: bool) -> None:
        command = EndTransaction(
            self.transactional_id, self.identity, is_commit, self.client_version
        )
        self._take(self._ask(command))

    def _take(self, identity: ProducerIdentity) -> None:
        if identity != self.identity:
            self.identity = identity
            self._sequences.clear()

    def _ask(self, command: Any) -> Any:
        reply = self.door.submit(self.transactional_id, command)
        if isinstance(reply, HeadraceError):
            raise reply
        return reply


def committed_values(log: Log) -> list[bytes | None]:
    """What a reader of committed records is shown; aborted ones are sorted out by their markers,
    not by the index that the broker keeps of them."""
    shown: list[bytes | None] = []
    pending: dict[int, list[bytes | None]] = {}
    for batch in log.records_from():
        header = read_header(batch)
        if header.base_offset >= log.last_stable_offset:
            break
        if header.is_control:
            marker = read_end_marker(batch)
            values = pending.pop(header.producer_id, [])
            if marker is not None and not marker.is_abort:
                shown += values
            continue
        values = [record.value for record in decode_records(batch)]
        if header.is_transactional:
            pending.setdefault(header.producer_id, []).extend(values)
        else:
            shown += values
    return shown
