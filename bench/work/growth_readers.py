"""What readers of old data cost a producer: 0, 1, 2 and 4 processes read as fast as they can.

The data is a topic of 2 GB; it is not dropped from the page cache. The producer writes to another
topic, one record at a time, from a process of its own.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.figures import PAGE_CACHE
from bench.load.fill import fill
from bench.load.reader import reading
from bench.load.topics import create_ready_topic
from bench.work.growth import GIGABYTE, MEGABYTE, Curves, add_latency, targets

if TYPE_CHECKING:
    from bench.figures import Series
    from bench.peers import Peer, PeerFactory

STEPS = (0, 1, 2, 4)
BACKLOG_GB = 2
OLD, NEW = ("old", 12), ("new", 12)


@dataclass(frozen=True)
class OldDataReaders:
    """The producer's latency, and what the readers get together."""

    name: str = "growth-readers"
    title: str = "Producing while old data is read"
    durability: str = PAGE_CACHE

    def run(self, factory: PeerFactory, scale: float) -> list[Series]:
        curves = Curves("readers of old data", "readers of old data")
        with factory.started() as peer:
            for topic in (OLD, NEW):
                create_ready_topic(peer, *topic)
            fill(peer.bootstrap_servers, *OLD, int(BACKLOG_GB * scale * GIGABYTE))
            os.sync()
            for readers in STEPS:
                self._measure(peer, curves, readers, scale)
        return curves.series()

    def _measure(self, peer: Peer, curves: Curves, readers: int, scale: float) -> None:
        with ExitStack() as stack:
            results = [
                stack.enter_context(reading(peer.bootstrap_servers, *OLD)) for _ in range(readers)
            ]
            add_latency(peer, curves, readers, targets([NEW], 1), scale)
        speed = sum(read.size_bytes / read.seconds for (read,) in results)
        curves.add(readers, "reading of old data", "MB/s", speed / MEGABYTE)
