"""Consume as fast as it goes what was produced before: the rate, and the broker's CPU time.

The topic is filled once for each broker and read again in every round, by both clients, so all of
it comes from the page cache.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.client_process import run_client
from bench.java_tools import consume_with_java
from bench.topics import create_topic, has_topic, raise_if_missing
from bench.work.throughput import SETTINGS, Throughput, throughput, throughput_figures

if TYPE_CHECKING:
    from bench.figures import Figure
    from bench.peers import Peer

COUNTS = {100: 2_000_000, 1_000: 600_000}
RATE_BAR = 1.0
CPU_BAR = 0.8
_groups = itertools.count(1)


@dataclass(frozen=True)
class Consume(Throughput):
    """One size of record, one number of partitions, one client."""

    verb = "Consume"

    @property
    def figures(self) -> tuple[Figure, ...]:
        bars = (RATE_BAR, CPU_BAR) if self.is_quick else (None, None)
        return throughput_figures(self.size, *bars)

    def run(self, peer: Peer, scale: float) -> dict[str, float]:
        count = max(1, int(COUNTS[self.size] * scale))
        topic = self._filled_topic(peer, count)
        if self.client == "java":
            cpu = peer.cpu_seconds()
            rate = consume_with_java(peer, topic, count, f"bench-java-{next(_groups)}")
            return throughput(self.size, count, rate, peer.cpu_seconds() - cpu)
        answer = run_client(
            "consume",
            bootstrap_servers=peer.bootstrap_servers,
            pid=peer.pid,
            topic=topic,
            count=count,
            partitions=self.partitions,
        )
        return throughput(self.size, count, count / answer["seconds"], answer["cpu_seconds"])

    def _filled_topic(self, peer: Peer, count: int) -> str:
        topic = f"bench-filled-{self.size}B-{self.partitions}p-{count}"
        if not has_topic(peer, topic):
            create_topic(peer, topic, self.partitions)
            run_client(
                "produce",
                bootstrap_servers=peer.bootstrap_servers,
                pid=peer.pid,
                topic=topic,
                count=count,
                size=self.size,
                partitions=self.partitions,
                settings=SETTINGS,
            )
            raise_if_missing(peer, topic, self.partitions, count)
        return topic
