"""A transaction coordinator over a log in memory, with the markers that its port would write."""

from __future__ import annotations

from itertools import count

from headrace.coordination.shard import Shard
from headrace.coordination.transactions.commands import (
    AddPartitions,
    DescribeTransaction,
    EndTransaction,
    InitProducerId,
)
from headrace.coordination.transactions.coordinator import TransactionCoordinator
from headrace.coordination.transactions.record_codec import transaction_record
from headrace.coordination.transactions.records import Transaction
from headrace.coordination.transactions.registry import TransactionRegistry, TransactionSettings
from headrace.coordination.transactions.states import TransactionState
from headrace.model.topic import TopicPartition
from headrace.testing.group_bench import MemoryPort

START_MS = 1_000_000
ID = "payments"
TIMEOUT_MS = 60_000
P0, P1 = TopicPartition("orders", 0), TopicPartition("orders", 1)


class MarkerPort(MemoryPort):
    """Notes the markers that belong to every append."""

    def __init__(self):
        super().__init__()
        self.machine = None
        self.markers = []

    def append(self, records, now_ms):
        completions = self.machine.completions(records)
        commit_number = super().append(records, now_ms)
        self.markers += completions
        return commit_number


class TransactionBench:
    """Time stands still until ``pass_ms``."""

    def __init__(self, log=(), *, now_ms=START_MS, version=2, first_producer_id=100, **settings):
        self.now_ms = now_ms
        self.version = version
        self.settings = settings
        self._producer_ids = count(first_producer_id)
        self._tokens = count(1)
        self.port = MarkerPort()
        self.port.log = list(log)
        self.registry = TransactionRegistry(
            TransactionSettings(**settings),
            lambda: next(self._producer_ids),
            lambda: self.version,
        )
        self.machine = self.port.machine = TransactionCoordinator(self.registry)
        self.shard = Shard(self.machine, self.port)
        self.shard.replay(self.port.log)
        self.machine.finish_loading(now_ms)

    def restarted(self, log=None):
        return TransactionBench(
            self.port.log if log is None else log,
            now_ms=self.now_ms,
            version=self.version,
            first_producer_id=next(self._producer_ids),
            **self.settings,
        )

    def ask(self, command):
        token = next(self._tokens)
        self.shard.submit(command, token, self.now_ms)
        return self.port.replies.pop(token)

    def init(self, expected=None, timeout_ms=TIMEOUT_MS):
        return self.ask(InitProducerId(ID, timeout_ms, expected))

    def add(self, producer, *partitions, version=2):
        return self.ask(AddPartitions(ID, producer, frozenset(partitions or {P0}), version))

    def end(self, producer, *, is_commit=True, version=2):
        return self.ask(EndTransaction(ID, producer, is_commit, version))

    def describe(self):
        return self.ask(DescribeTransaction(ID))

    def pass_ms(self, delay_ms):
        end_ms = self.now_ms + delay_ms
        while (due_ms := self.shard.next_deadline_ms()) is not None and due_ms <= end_ms:
            self.now_ms = max(self.now_ms, due_ms)
            self.shard.tick(self.now_ms)
        self.now_ms = end_ms

    @property
    def transaction(self):
        return self.registry.transactions[ID]


def stored(**changes):
    """The record of a transactional id with an open transaction, changed as told."""
    transaction = Transaction(
        ID,
        7,
        3,
        TIMEOUT_MS,
        START_MS,
        TransactionState.ONGOING,
        frozenset({P0, P1}),
        START_MS,
        7,
        client_version=2,
    )
    return transaction_record(transaction._replace(**changes))
