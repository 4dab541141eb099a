"""From starting the process to the first acknowledged record.

Preparing a directory (Kafka's `format`) is not part of it; starting Python or Java is. Nothing is
dropped from the page cache: both brokers find their files as warm as the last run left them. Both
are asked by the same client, which knocks every few milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.figures import PAGE_CACHE, Figure
from bench.load.fill import fill
from bench.load.probe import Probe, seconds_to_first_record
from bench.load.topics import create_ready_topic, touch

if TYPE_CHECKING:
    from bench.peers import Peer, PeerFactory

START_SECONDS_MAX = 300.0
TOPIC = "start"
PARTITIONS = 1_000
PARTITIONS_MIN = 10
SIZE_BYTES = 4_000_000_000


def first_record_seconds(peer: Peer, probe: Probe) -> float:
    """Start this peer, which must not run, and wait for its first acknowledgement."""
    address = lambda: peer.bootstrap_servers  # noqa: E731  # known only once the broker listens
    return seconds_to_first_record(peer.start, address, probe, START_SECONDS_MAX)


@dataclass(frozen=True)
class StartEmpty:
    """Over an empty directory; the topic is made on the way, by the same client."""

    name: str = "start-empty"
    title: str = "Start to first record, empty directory"
    durability: str = PAGE_CACHE
    figures: tuple[Figure, ...] = (Figure("seconds", "s", "lower", 0.15),)
    rounds_max: int = 3
    is_quick: bool = True

    def run(self, factory: PeerFactory, scale: float) -> dict[str, float]:
        with factory.peer() as peer:
            return {"seconds": first_record_seconds(peer, Probe(TOPIC, create=True))}


@dataclass(frozen=True)
class StartFull:
    """Over many partitions with data: after a clean stop, then after kill -9."""

    name: str = "start-1000p-4GB"
    title: str = "Start to first record, 1,000 partitions, 4 GB"
    durability: str = PAGE_CACHE
    figures: tuple[Figure, ...] = (
        Figure("after a clean stop", "s", "lower", 0.15),
        Figure("after kill -9", "s", "lower", 0.2),
    )
    rounds_max: int = 2
    is_quick: bool = False

    def run(self, factory: PeerFactory, scale: float) -> dict[str, float]:
        partitions = max(PARTITIONS_MIN, min(PARTITIONS, int(PARTITIONS * scale)))
        with factory.started() as peer:
            create_ready_topic(peer, TOPIC, partitions)
            fill(peer.bootstrap_servers, TOPIC, partitions, int(SIZE_BYTES * scale))
            probe = Probe(TOPIC, partition=partitions // 2)
            peer.stop()
            clean = first_record_seconds(peer, probe)
            touch(peer, TOPIC, partitions)
            peer.kill()
            return {
                "after a clean stop": clean,
                "after kill -9": first_record_seconds(peer, probe),
            }
