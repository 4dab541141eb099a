"""Produce and consume over TLS: the same load as without, on brokers with a second listener.

The brokers are started for each round, and warmed by the same load over TLS before it counts.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.client_process import run_client
from bench.figures import PAGE_CACHE, Figure
from bench.tls import make_tls_files
from bench.topics import fresh_topic, raise_if_missing

if TYPE_CHECKING:
    from bench.peers import Peer, PeerFactory

COUNTS = {100: 2_000_000, 1_000: 400_000}
WARM_SECONDS = 20.0
WARM_SHARE = 0.3
BAR = 0.8
PRODUCE, CONSUME = "produce", "consume"


@dataclass(frozen=True)
class Tls:
    """One size of record, one partition, librdkafka."""

    size: int
    durability: str = PAGE_CACHE
    rounds_max: int = 2
    is_quick: bool = False

    @property
    def name(self) -> str:
        return f"tls-{self.size}B"

    @property
    def title(self) -> str:
        return f"Produce and consume {self.size:,} B over TLS"

    @property
    def figures(self) -> tuple[Figure, ...]:
        return tuple(Figure(name, "MB/s", "higher", BAR) for name in (PRODUCE, CONSUME))

    def run(self, factory: PeerFactory, scale: float) -> dict[str, float]:
        count = max(1, int(COUNTS[self.size] * scale))
        with tempfile.TemporaryDirectory(prefix="headrace-bench-tls-") as directory:
            tls = make_tls_files(Path(directory))
            with factory.started(tls.broker_settings, has_tls=True) as peer:
                self._warm(peer, max(1, int(count * WARM_SHARE)), tls.client_settings, scale)
                return self._one_lap(peer, count, tls.client_settings)

    def _warm(self, peer: Peer, count: int, settings: dict[str, str], scale: float) -> None:
        deadline_s = time.monotonic() + WARM_SECONDS * min(1.0, scale)
        while True:
            self._one_lap(peer, count, settings)
            if time.monotonic() > deadline_s:
                return

    def _one_lap(self, peer: Peer, count: int, settings: dict[str, str]) -> dict[str, float]:
        with fresh_topic(peer, self.name) as topic:
            load: dict[str, Any] = {
                "bootstrap_servers": peer.tls_bootstrap_servers,
                "pid": peer.pid,
                "topic": topic,
                "count": count,
            }
            producing = {**settings, "linger.ms": 5}
            produced = run_client("produce", **load, size=self.size, settings=producing)
            raise_if_missing(peer, topic, 1, count)
            consumed = run_client("consume", **load, settings=settings)
        megabytes = count * self.size / 1e6
        return {
            PRODUCE: megabytes / produced["seconds"],
            CONSUME: megabytes / consumed["seconds"],
        }
