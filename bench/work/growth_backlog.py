"""What stored data costs: 0, 5 and 20 GB in twelve partitions of one broker."""

from __future__ import annotations

import logging
import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.figures import PAGE_CACHE
from bench.load.fill import fill
from bench.load.topics import create_ready_topic
from bench.work.growth import GIGABYTE, WORK_SECONDS_MAX, Budget, Curves, add_load, add_starts

if TYPE_CHECKING:
    from bench.figures import Series
    from bench.peers import Peer, PeerFactory

STEPS_GB = (0, 5, 20)
TOPIC = ("backlog", 12)
DISK_FACTOR = 1.25
"""So much more than what is written must be free: indexes, and the machine's own needs."""

log = logging.getLogger("bench")


def maybe_obstacle(missing_bytes: int, free_bytes: int, left_s: float) -> str | None:
    """Why the next step is left out."""
    if missing_bytes * DISK_FACTOR > free_bytes:
        return f"{free_bytes / GIGABYTE:.0f} GB free on the disk"
    return "no time left" if left_s <= 0 else None


@dataclass(frozen=True)
class BacklogGrowth:
    """Each step's data is written back before the load, which then has the disk for itself."""

    name: str = "growth-backlog"
    title: str = "Growth with the stored data"
    durability: str = PAGE_CACHE

    def run(self, factory: PeerFactory, scale: float) -> list[Series]:
        curves = Curves("GB stored", "size of the log")
        budget = Budget(WORK_SECONDS_MAX)
        stored_bytes = 0
        with factory.started() as peer:
            create_ready_topic(peer, *TOPIC)
            for step_gb in STEPS_GB:
                missing_bytes = int(step_gb * scale * GIGABYTE) - stored_bytes
                free_bytes = shutil.disk_usage(peer.directory).free
                if obstacle := maybe_obstacle(missing_bytes, free_bytes, budget.left_s):
                    log.warning("%s: %g GB left out: %s", peer.name, step_gb, obstacle)
                    break
                self._fill(peer, missing_bytes)
                stored_bytes += missing_bytes
                add_load(peer, curves, step_gb * scale, [TOPIC], scale)
                add_starts(peer, curves, step_gb * scale, [TOPIC], budget)
        return curves.series()

    def _fill(self, peer: Peer, size_bytes: int) -> None:
        fill(peer.bootstrap_servers, *TOPIC, size_bytes)
        os.sync()
