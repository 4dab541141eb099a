"""Acknowledged means on the medium: `durability=fsync` against Kafka's `flush.messages=1`.

Every producer is a connection with one record of 100 bytes under way. They spread over twelve
partitions, so that Kafka can flush several logs at the same time. The client is one uvloop thread
that sends requests encoded beforehand: 32 instances of librdkafka would take more of the machine's
cores than the broker.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.figures import FSYNC_PER_REQUEST, Figure
from bench.load.apart import apart
from bench.load.closed_loop import Load, all_partitions, run_load
from bench.load.frames import ProduceFrames, batch_of
from bench.load.topics import ensure_ready_topic
from bench.percentiles import P50, P99, percentiles

if TYPE_CHECKING:
    from bench.peers import Peer

TOPIC = "fsync"
PARTITIONS = 12
SECONDS = 4.0
SECONDS_MIN = 1.0
WARM_SECONDS = 1.0
VALUE = b"x" * 100
MILLISECONDS = 1_000.0
TOPIC_SETTINGS = {"headrace": {"durability": "fsync"}, "kafka": {"flush.messages": "1"}}


@dataclass(frozen=True)
class FsyncProduce:
    """So many producers, each waiting for its record before it sends the next."""

    producers: int
    bar: float | None
    durability: str = FSYNC_PER_REQUEST
    rounds_max: int = 3
    writes_bulk: bool = False
    is_quick: bool = True

    @property
    def name(self) -> str:
        return f"fsync-{self.producers}"

    @property
    def title(self) -> str:
        noun = "producer" if self.producers == 1 else "producers"
        return f"Produce 100 B synchronously with fsync, {self.producers} {noun}"

    @property
    def figures(self) -> tuple[Figure, ...]:
        return (
            Figure("rate", "records/s", "higher", self.bar),
            Figure(P50, "ms", "lower"),
            Figure(P99, "ms", "lower"),
        )

    def run(self, peer: Peer, scale: float) -> dict[str, float]:
        ensure_ready_topic(peer, TOPIC, PARTITIONS, TOPIC_SETTINGS[peer.name])
        targets = all_partitions(ProduceFrames(TOPIC, batch_of(VALUE)), PARTITIONS)
        seconds = max(SECONDS * scale, SECONDS_MIN)
        load = Load(targets, self.producers, seconds, warm_seconds=WARM_SECONDS)
        outcome = apart(run_load, peer.bootstrap_servers, load)
        latencies_s = percentiles(outcome.latencies_s)
        return {
            "rate": outcome.requests_per_second,
            P50: latencies_s[P50] * MILLISECONDS,
            P99: latencies_s[P99] * MILLISECONDS,
        }
