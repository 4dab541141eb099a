"""What more partitions cost: 1, 100, 1,000 and 10,000 of them on one broker."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.figures import PAGE_CACHE
from bench.load.topics import PARTITIONS_PER_CALL_MAX, create_ready_topic
from bench.work.growth import WORK_SECONDS_MAX, Budget, Curves, Topic, add_load, add_starts

if TYPE_CHECKING:
    from bench.figures import Series
    from bench.peers import Peer, PeerFactory

STEPS = (1, 100, 1_000, 10_000)

log = logging.getLogger("bench")


def topics_up_to(wanted: int, topics: list[Topic]) -> list[Topic]:
    """The topics that are missing to a total of `wanted` partitions."""
    missing = wanted - sum(partitions for _, partitions in topics)
    added: list[Topic] = []
    while missing > 0:
        size = min(missing, PARTITIONS_PER_CALL_MAX)
        added.append((f"growth-{len(topics) + len(added)}", size))
        missing -= size
    return added


@dataclass(frozen=True)
class PartitionGrowth:
    """Partitions are added by at most a thousand per call; every one of them takes records."""

    name: str = "growth-partitions"
    title: str = "Growth with the number of partitions"
    durability: str = PAGE_CACHE

    def run(self, factory: PeerFactory, scale: float) -> list[Series]:
        curves = Curves("partitions", "number of partitions")
        budget = Budget(WORK_SECONDS_MAX)
        topics: list[Topic] = []
        with factory.started() as peer:
            for wanted in STEPS:
                if wanted > max(1, STEPS[-1] * scale):
                    break
                try:
                    self._make(peer, topics_up_to(wanted, topics), budget)
                except TimeoutError as late:
                    log.warning("%s: the curve ends before %d: %s", peer.name, wanted, late)
                    break
                topics += topics_up_to(wanted, topics)
                add_load(peer, curves, wanted, topics, scale)
                add_starts(peer, curves, wanted, topics, budget)
        return curves.series()

    def _make(self, peer: Peer, added: list[Topic], budget: Budget) -> None:
        for name, partitions in added:
            create_ready_topic(peer, name, partitions, seconds_max=budget.left_s)
