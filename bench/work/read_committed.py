"""Consume what transactions wrote, without what was aborted: the rate, and the broker's CPU time.

Every tenth transaction is aborted, so the broker tells of them and the client leaves them out. The
topic is filled once for each broker and read again in every round, from the page cache.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.client_process import run_client
from bench.figures import PAGE_CACHE, Figure
from bench.topics import create_topic, has_topic, raise_if_missing
from bench.work.throughput import throughput, throughput_figures

if TYPE_CHECKING:
    from bench.peers import Peer

COUNTS = {100: 1_000_000, 1_000: 300_000}
RECORDS_PER_TRANSACTION = 1_000
ABORT_EVERY = 10
RATE_BAR = 1.0


@dataclass(frozen=True)
class ReadCommitted:
    """One size of record, one partition, librdkafka."""

    size: int
    durability: str = PAGE_CACHE
    rounds_max: int = 3
    writes_bulk: bool = True

    @property
    def name(self) -> str:
        return f"read-committed-{self.size}B"

    @property
    def title(self) -> str:
        return f"Consume {self.size:,} B read_committed, transactions of 1,000, one in 10 aborted"

    @property
    def is_quick(self) -> bool:
        return self.size == 100

    @property
    def figures(self) -> tuple[Figure, ...]:
        return throughput_figures(self.size, RATE_BAR, None)

    def run(self, peer: Peer, scale: float) -> dict[str, float]:
        count = max(RECORDS_PER_TRANSACTION, int(COUNTS[self.size] * scale))
        answer = run_client(
            "consume",
            bootstrap_servers=peer.bootstrap_servers,
            pid=peer.pid,
            topic=self._filled_topic(peer, count),
            count=count,
            settings={"isolation.level": "read_committed"},
        )
        return throughput(self.size, count, count / answer["seconds"], answer["cpu_seconds"])

    def _filled_topic(self, peer: Peer, count: int) -> str:
        topic = f"bench-transactions-{self.size}B-{count}"
        if not has_topic(peer, topic):
            create_topic(peer, topic, 1)
            run_client(
                "fill_with_transactions",
                bootstrap_servers=peer.bootstrap_servers,
                topic=topic,
                count=count,
                size=self.size,
                records=RECORDS_PER_TRANSACTION,
                abort_every=ABORT_EVERY,
                label=topic,
            )
            raise_if_missing(peer, topic, 1, count)
        return topic
