"""End to end: from the hand-over to a producer until a consumer has the record, at a steady rate.

Producer and consumer are processes of their own; neither collects records (linger 0). The first
second is not counted. A round in which the producer could not keep its pace is an error.

The same number of records in a second is one load if each comes alone, and another if they come in
bursts: librdkafka sends a burst in one or two requests. Both are measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.client_process import ClientProcess
from bench.figures import PAGE_CACHE, Figure
from bench.percentiles import P50, P99, P99_9
from bench.topics import fresh_topic

if TYPE_CHECKING:
    from bench.peers import Peer

RECORD_BYTES = 100
SECONDS = 10
BARS_RATE = 10_000
PACE_SHARE_MIN = 0.95


class PaceLost(RuntimeError):
    """The producer was slower than it should have been, so the latencies mean nothing."""


@dataclass(frozen=True)
class EndToEnd:
    """One rate of records per second; so many at a time."""

    rate: int
    burst: int = 1
    durability: str = PAGE_CACHE
    rounds_max: int = 3
    writes_bulk: bool = False

    @property
    def name(self) -> str:
        return f"end-to-end-{self.rate}" + ("-bursts" if self.burst > 1 else "")

    @property
    def title(self) -> str:
        bursts = f", {self.burst} at a time" if self.burst > 1 else ""
        return f"End to end at {self.rate:,} records/s{bursts}, linger 0"

    @property
    def is_quick(self) -> bool:
        return self.rate == BARS_RATE

    @property
    def figures(self) -> tuple[Figure, ...]:
        has_bars = self.rate == BARS_RATE
        return (
            Figure(P50, "ms", "lower", 0.5 if has_bars else None),
            Figure(P99, "ms", "lower", 0.3 if has_bars else None),
            Figure(P99_9, "ms", "lower"),
        )

    def run(self, peer: Peer, scale: float) -> dict[str, float]:
        skipped = self.rate
        count = max(1, int(self.rate * SECONDS * scale))
        with fresh_topic(peer, self.name) as topic:
            common = {"bootstrap_servers": peer.bootstrap_servers, "topic": topic}
            reading = {**common, "count": count, "skipped": skipped}
            writing = {
                **common,
                "count": count + skipped,
                "size": RECORD_BYTES,
                "rate": self.rate,
                "burst": self.burst,
            }
            with ClientProcess("paced_consume", reading) as consumer:
                consumer.wait_until_ready()
                with ClientProcess("paced_produce", writing) as producer:
                    reached = producer.result()["rate"]
                latencies = consumer.result()
        if reached < self.rate * PACE_SHARE_MIN:
            raise PaceLost(f"{reached:.0f} records/s instead of {self.rate}")
        return latencies
