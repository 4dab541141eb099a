"""Produce as fast as it goes, acks=all: the rate, and what CPU it costs the broker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.client_process import run_client
from bench.java_tools import produce_with_java
from bench.topics import fresh_topic, raise_if_missing
from bench.work.throughput import SETTINGS, Throughput, throughput, throughput_figures

if TYPE_CHECKING:
    from bench.figures import Figure
    from bench.peers import Peer

COUNTS = {100: 3_000_000, 1_000: 1_000_000}
RATE_BARS = {100: 1.0, 1_000: 1.3}
CPU_BARS = {100: 0.5}


@dataclass(frozen=True)
class Produce(Throughput):
    """One size of record, one number of partitions, one client."""

    verb = "Produce"

    @property
    def figures(self) -> tuple[Figure, ...]:
        if not self.is_quick:
            return throughput_figures(self.size, None, None)
        return throughput_figures(self.size, RATE_BARS.get(self.size), CPU_BARS.get(self.size))

    def run(self, peer: Peer, scale: float) -> dict[str, float]:
        count = max(1, int(COUNTS[self.size] * scale))
        with fresh_topic(peer, self.name, self.partitions) as topic:
            if self.client == "java":
                cpu = peer.cpu_seconds()
                rate = produce_with_java(peer, topic, count, self.size)
                used = peer.cpu_seconds() - cpu
            else:
                answer = run_client(
                    "produce",
                    bootstrap_servers=peer.bootstrap_servers,
                    pid=peer.pid,
                    topic=topic,
                    count=count,
                    size=self.size,
                    partitions=self.partitions,
                    settings=SETTINGS,
                )
                rate, used = count / answer["seconds"], answer["cpu_seconds"]
            raise_if_missing(peer, topic, self.partitions, count)
        return throughput(self.size, count, rate, used)
