"""Produce as fast as it goes, acks=all: the rate, and what CPU it costs the broker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from bench.client_process import run_client
from bench.figures import PAGE_CACHE, Figure
from bench.java_tools import produce_with_java
from bench.topics import fresh_topic, raise_if_missing

if TYPE_CHECKING:
    from bench.peers import Peer

Client = Literal["librdkafka", "java"]
COUNTS = {100: 3_000_000, 1_000: 1_000_000}
RATE_BARS = {100: 1.0, 1_000: 1.3}
CPU_BARS = {100: 0.5}
SETTINGS = {"linger.ms": 5}


def label(verb: str, size: int, partitions: int, client: Client) -> str:
    return f"{verb}-{size}B-{partitions}p" + ("-java" if client == "java" else "")


def title(verb: str, size: int, partitions: int, client: Client) -> str:
    noun = "partition" if partitions == 1 else "partitions"
    tool = "Java tool" if client == "java" else "librdkafka"
    return f"{verb} {size:,} B, {partitions} {noun}, {tool}"


def throughput_figures(
    size: int, rate_bar: float | None, cpu_bar: float | None
) -> tuple[Figure, Figure]:
    """Small records are counted, large ones weighed; the ratio is the same."""
    if size < 1_000:
        rate = Figure("rate", "records/s", "higher", rate_bar)
        return rate, Figure("broker CPU", "s per million records", "lower", cpu_bar)
    rate = Figure("rate", "MB/s", "higher", rate_bar)
    return rate, Figure("broker CPU", "s per GB", "lower", cpu_bar)


def throughput(
    size: int, count: int, records_per_second: float, cpu_seconds: float
) -> dict[str, float]:
    """The values of `throughput_figures`."""
    if size < 1_000:
        return {"rate": records_per_second, "broker CPU": cpu_seconds / count * 1e6}
    return {
        "rate": records_per_second * size / 1e6,
        "broker CPU": cpu_seconds / (count * size) * 1e9,
    }


@dataclass(frozen=True)
class Produce:
    """One size of record, one number of partitions, one client."""

    size: int
    partitions: int
    client: Client
    durability: str = PAGE_CACHE

    @property
    def name(self) -> str:
        return label("produce", self.size, self.partitions, self.client)

    @property
    def title(self) -> str:
        return title("Produce", self.size, self.partitions, self.client)

    @property
    def figures(self) -> tuple[Figure, ...]:
        if not self.is_quick:
            return throughput_figures(self.size, None, None)
        return throughput_figures(self.size, RATE_BARS.get(self.size), CPU_BARS.get(self.size))

    @property
    def is_quick(self) -> bool:
        """The bars are on these as well: one partition, librdkafka."""
        return self.partitions == 1 and self.client == "librdkafka"

    @property
    def rounds_max(self) -> int:
        return 3 if self.client == "librdkafka" else 2

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
