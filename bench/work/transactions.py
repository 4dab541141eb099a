"""Transactions per second: begin, send, commit, and again.

Each producer has a partition of its own and one transaction under way. Nothing is read meanwhile.
Sixteen real clients on a small machine are slower than either broker, so the same is done by a
light client as well (``bench.load.transactions``), which tells what a transaction costs the broker.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench.client_process import run_client
from bench.figures import PAGE_CACHE, Figure
from bench.java_tools import transactions_with_java
from bench.load.transactions import BROKER_CPU, CLIENT_CPU
from bench.percentiles import P50, P99
from bench.topics import fresh_topic

if TYPE_CHECKING:
    from bench.peers import Peer
    from bench.work.throughput import Client

RECORD_BYTES = 100
PARTITIONS = 16
SECONDS = 6.0
SECONDS_MIN = 1.0
WARM_SECONDS = 2.0
JAVA_WARM_SECONDS = 15.0
"""Java compiles what runs often while it runs: sixteen of its producers are at half of their rate
after 2 s, and at their own after 10. A broker that makes them wait does not see it; one that does
not is measured by a cold client."""
RATE_BAR = 5.0
BULK_RECORDS_MIN = 100
"""Of a transaction: six thousand of them a second are half a gigabyte in a round."""
_labels = itertools.count(1)


@dataclass(frozen=True)
class Transactions:
    """So many producers, so many records in each transaction, one client."""

    records: int
    producers: int
    client: Client
    durability: str = PAGE_CACHE
    rounds_max: int = 3

    @property
    def writes_bulk(self) -> bool:
        return self.records >= BULK_RECORDS_MIN

    @property
    def name(self) -> str:
        tool = "-java" if self.client == "java" else ""
        return f"transactions-{self.records}r-{self.producers}p{tool}"

    @property
    def title(self) -> str:
        tool = "Java" if self.client == "java" else "librdkafka"
        return f"{_counted(self.records, self.producers)}, {tool}"

    @property
    def is_quick(self) -> bool:
        return self.client == "librdkafka" and self.records == 1

    @property
    def figures(self) -> tuple[Figure, ...]:
        return (
            Figure("rate", "transactions/s", "higher", RATE_BAR),
            Figure(P50, "ms", "lower"),
            Figure(P99, "ms", "lower"),
        )

    def run(self, peer: Peer, scale: float) -> dict[str, float]:
        with fresh_topic(peer, self.name, PARTITIONS) as topic:
            load = _load(peer, self.name, topic, self.records, self.producers, scale)
            if self.client == "java":
                return transactions_with_java(**load | {"warm_seconds": JAVA_WARM_SECONDS})
            return run_client("transactions", **load)


@dataclass(frozen=True)
class LightTransactions:
    """The same without a client library, in one of the two generations of the protocol.

    A lone producer is paced: see ``bench.load.transactions``.
    """

    records: int
    producers: int
    generation: int
    durability: str = PAGE_CACHE
    rounds_max: int = 3

    @property
    def writes_bulk(self) -> bool:
        return self.records >= BULK_RECORDS_MIN

    @property
    def name(self) -> str:
        return f"transactions-{self.records}r-{self.producers}p-light-v{self.generation}"

    @property
    def title(self) -> str:
        return f"{_counted(self.records, self.producers)}, light client, version {self.generation}"

    @property
    def is_quick(self) -> bool:
        return self.records == 1 and self.producers > 1

    @property
    def figures(self) -> tuple[Figure, ...]:
        return (
            Figure("rate", "transactions/s", "higher", RATE_BAR),
            Figure(P50, "ms", "lower"),
            Figure(P99, "ms", "lower"),
            Figure(BROKER_CPU, "us per transaction", "lower"),
            Figure(CLIENT_CPU, "us per transaction", "lower"),
        )

    def run(self, peer: Peer, scale: float) -> dict[str, float]:
        with fresh_topic(peer, self.name, PARTITIONS) as topic:
            load = _load(peer, self.name, topic, self.records, self.producers, scale)
            answer = run_client(
                "light_transactions",
                **load,
                generation=self.generation,
                is_paced=self.producers == 1,
                pid=peer.pid,
            )
        return {figure.name: answer[figure.name] for figure in self.figures}


def _counted(records: int, producers: int) -> str:
    record = "record" if records == 1 else "records"
    producer = "producer" if producers == 1 else "producers"
    return f"Transactions of {records} {record}, {producers} {producer}"


def _load(
    peer: Peer, name: str, topic: str, records: int, producers: int, scale: float
) -> dict[str, Any]:
    """What all clients of these works are told."""
    return {
        "bootstrap_servers": peer.bootstrap_servers,
        "topic": topic,
        "partitions": PARTITIONS,
        "producers": producers,
        "records": records,
        "size": RECORD_BYTES,
        "warm_seconds": WARM_SECONDS,
        "seconds": max(SECONDS * scale, SECONDS_MIN),
        "label": f"{name}-{next(_labels)}",
    }
