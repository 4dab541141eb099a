"""Every work of the bench, in the order in which it is done and shown.

Steady work shares two brokers that stay up; what stands in `BEFORE_LOAD` sees them before anything
else does, and what stands in `AFTER_LOAD` when all steady work is done.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from bench.peers import kafka_missing
from bench.work.compressed import Compressed
from bench.work.consume import Consume
from bench.work.end_to_end import EndToEnd
from bench.work.first_record import StartEmpty, StartFull
from bench.work.fsync import FsyncProduce
from bench.work.groups import GroupTimes
from bench.work.growth_backlog import BacklogGrowth
from bench.work.growth_partitions import PartitionGrowth
from bench.work.growth_readers import OldDataReaders
from bench.work.many_partitions import RoundRobin
from bench.work.memory import IdleMemory, LoadedMemory
from bench.work.produce import Produce
from bench.work.read_committed import ReadCommitted
from bench.work.requests import OneRecordPerRequest, SynchronousProduce
from bench.work.round_trips import RoundTrips
from bench.work.tls import Tls
from bench.work.transactions import LightTransactions, Transactions

if TYPE_CHECKING:
    from bench.protocols import GrowthWork, LifeCycleWork, SteadyWork
    from bench.work.throughput import Client

# Kafka's own tools come with Kafka.
CLIENTS: tuple[Client, ...] = ("librdkafka",) if kafka_missing() else ("librdkafka", "java")
THROUGHPUT = tuple(itertools.product(CLIENTS, (100, 1_000), (1, 12)))
TRANSACTIONS = tuple(itertools.product(CLIENTS, (1, 100), (1, 16)))
LIGHT_TRANSACTIONS = tuple(itertools.product((1, 100), (1, 16), (1, 2)))

BEFORE_LOAD: tuple[SteadyWork, ...] = (IdleMemory(),)
STEADY: tuple[SteadyWork, ...] = (
    *(Produce(size, partitions, client) for client, size, partitions in THROUGHPUT),
    *(Consume(size, partitions, client) for client, size, partitions in THROUGHPUT),
    SynchronousProduce(),
    OneRecordPerRequest(),
    EndToEnd(1_000),
    EndToEnd(10_000),
    EndToEnd(10_000, burst=10),
    *(Compressed(codec) for codec in ("gzip", "snappy", "lz4", "zstd")),
    FsyncProduce(producers=1, bar=None, is_quick=False),
    FsyncProduce(producers=32, bar=2.0),
    RoundTrips(),
    *(Transactions(records, producers, client) for client, records, producers in TRANSACTIONS),
    *(LightTransactions(*each) for each in LIGHT_TRANSACTIONS),
    ReadCommitted(100),
    ReadCommitted(1_000),
    RoundRobin(),  # the last: its thousand partitions stay
)
AFTER_LOAD: tuple[SteadyWork, ...] = (LoadedMemory(),)
LIFE_CYCLE: tuple[LifeCycleWork, ...] = (
    StartEmpty(),
    StartFull(),
    GroupTimes(),
    Tls(100),
    Tls(1_000),
)
GROWTH: tuple[GrowthWork, ...] = (PartitionGrowth(), BacklogGrowth(), OldDataReaders())
