"""Small requests: one after the other with its acknowledgement awaited, and many in flight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.client_process import run_client
from bench.figures import PAGE_CACHE, Figure
from bench.percentiles import P50, P99, P99_9
from bench.topics import fresh_topic, raise_if_missing

if TYPE_CHECKING:
    from bench.peers import Peer

RECORD_BYTES = 100
SYNCHRONOUS_COUNT = 10_000
SYNCHRONOUS_SKIPPED = 500
SINGLE_COUNT = 60_000


@dataclass(frozen=True)
class SynchronousProduce:
    """A producer that sends the next record when the last is acknowledged."""

    name: str = "synchronous"
    title: str = "Produce 100 B synchronously"
    durability: str = PAGE_CACHE
    figures: tuple[Figure, ...] = (
        Figure(P50, "us", "lower", 0.8),
        Figure(P99, "us", "lower", 0.75),
        Figure(P99_9, "us", "lower"),
    )
    rounds_max: int = 3
    writes_bulk: bool = False
    is_quick: bool = True

    def run(self, peer: Peer, scale: float) -> dict[str, float]:
        with fresh_topic(peer, self.name) as topic:
            return run_client(
                "synchronous",
                bootstrap_servers=peer.bootstrap_servers,
                topic=topic,
                count=max(1, int(SYNCHRONOUS_COUNT * scale)),
                size=RECORD_BYTES,
                skipped=SYNCHRONOUS_SKIPPED,
            )


@dataclass(frozen=True)
class OneRecordPerRequest:
    """A producer that may not collect records, with as many requests in flight as it likes."""

    name: str = "single"
    title: str = "One record of 100 B per request"
    durability: str = PAGE_CACHE
    figures: tuple[Figure, ...] = (
        Figure("rate", "requests/s", "higher", 5.0),
        Figure("broker CPU", "s per million requests", "lower"),
    )
    rounds_max: int = 3
    writes_bulk: bool = False
    is_quick: bool = True

    def run(self, peer: Peer, scale: float) -> dict[str, float]:
        count = max(1, int(SINGLE_COUNT * scale))
        with fresh_topic(peer, self.name) as topic:
            answer = run_client(
                "produce",
                bootstrap_servers=peer.bootstrap_servers,
                pid=peer.pid,
                topic=topic,
                count=count,
                size=RECORD_BYTES,
                settings={"batch.num.messages": 1, "linger.ms": 0},
            )
            raise_if_missing(peer, topic, 1, count)
        return {
            "rate": count / answer["seconds"],
            "broker CPU": answer["cpu_seconds"] / count * 1e6,
        }
