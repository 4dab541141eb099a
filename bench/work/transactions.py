"""Transactions per second: begin, send, commit, and again.

Each producer has a partition of its own and one transaction under way. Nothing is read meanwhile.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench.client_process import run_client
from bench.figures import PAGE_CACHE, Figure
from bench.java_tools import transactions_with_java
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
RATE_BAR = 5.0
_labels = itertools.count(1)


@dataclass(frozen=True)
class Transactions:
    """So many producers, so many records in each transaction, one client."""

    records: int
    producers: int
    client: Client
    durability: str = PAGE_CACHE
    rounds_max: int = 3
    writes_bulk: bool = False

    @property
    def name(self) -> str:
        tool = "-java" if self.client == "java" else ""
        return f"transactions-{self.records}r-{self.producers}p{tool}"

    @property
    def title(self) -> str:
        record = "record" if self.records == 1 else "records"
        producer = "producer" if self.producers == 1 else "producers"
        tool = "Java" if self.client == "java" else "librdkafka"
        return f"Transactions of {self.records} {record}, {self.producers} {producer}, {tool}"

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
            load: dict[str, Any] = {
                "bootstrap_servers": peer.bootstrap_servers,
                "topic": topic,
                "partitions": PARTITIONS,
                "producers": self.producers,
                "records": self.records,
                "size": RECORD_BYTES,
                "warm_seconds": WARM_SECONDS,
                "seconds": max(SECONDS * scale, SECONDS_MIN),
                "label": f"{self.name}-{next(_labels)}",
            }
            if self.client == "java":
                return transactions_with_java(**load)
            return run_client("transactions", **load)
