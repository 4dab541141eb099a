"""Compressed batches: produce, then consume; the client does the packing, the broker only checks.

The values are JSON-like text of 1,000 B. Rates count the bytes before compression.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.client_process import run_client
from bench.figures import PAGE_CACHE, Figure
from bench.topics import fresh_topic, raise_if_missing

if TYPE_CHECKING:
    from bench.peers import Peer

RECORD_BYTES = 1_000
COUNT = 400_000
# gzip packs several times slower than the others: the same seconds, fewer records.
COUNTS = {"gzip": 60_000}


@dataclass(frozen=True)
class Compressed:
    """One codec."""

    codec: str
    durability: str = PAGE_CACHE
    rounds_max: int = 2
    writes_bulk: bool = True
    is_quick: bool = False
    figures: tuple[Figure, ...] = (
        Figure("produce", "MB/s", "higher"),
        Figure("produce, broker CPU", "s per GB", "lower"),
        Figure("consume", "MB/s", "higher"),
        Figure("consume, broker CPU", "s per GB", "lower"),
    )

    @property
    def name(self) -> str:
        return f"compressed-{self.codec}"

    @property
    def title(self) -> str:
        return f"{self.codec}, records of 1,000 B"

    def run(self, peer: Peer, scale: float) -> dict[str, float]:
        count = max(1, int(COUNTS.get(self.codec, COUNT) * scale))
        gigabytes = count * RECORD_BYTES / 1e9
        with fresh_topic(peer, self.name) as topic:
            common = {
                "bootstrap_servers": peer.bootstrap_servers,
                "pid": peer.pid,
                "topic": topic,
                "count": count,
            }
            settings = {"linger.ms": 5, "compression.type": self.codec}
            sent = run_client(
                "produce", **common, size=RECORD_BYTES, settings=settings, values="text"
            )
            raise_if_missing(peer, topic, 1, count)
            taken = run_client("consume", **common)
        return {
            "produce": gigabytes * 1e3 / sent["seconds"],
            "produce, broker CPU": sent["cpu_seconds"] / gigabytes,
            "consume": gigabytes * 1e3 / taken["seconds"],
            "consume, broker CPU": taken["cpu_seconds"] / gigabytes,
        }
