"""What to do in a run: routes, shapes, rounds, growth; all sizes follow from the scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.lake.shapes import GIGABYTE, LARGE, SHAPES, SMALL, Shape, TopicContent

if TYPE_CHECKING:
    from bench.lake.routes import Route
    from bench.peers import PeerName

FULL, QUICK, PARTIAL = "full", "quick", "partial"
SCALE_QUICK = 0.02
ROUNDS_FULL, ROUNDS_QUICK = 3, 1
PARTITIONS = 4
WARM_SHARE = 0.1
WARM_SHARE_OF_FULL_MIN = 0.01
"""However small the run, a driver is not warm after fewer records."""
GROWTH_PARTITIONS = (1, 4, 16)
GROWTH_RECORDS = 4_000_000
GROWTH_GIGABYTES = (1.0, 5.0, 20.0)
DISK_FACTOR = 1.1
"""What is written to the log and to Parquet files, if nothing gets smaller, and some room."""


@dataclass(frozen=True)
class Plan:
    """One run."""

    mode: str
    routes: tuple[Route, ...]
    scale: float
    rounds: int
    partitions: int
    codec: str
    parquet_codec: str
    jars: tuple[str, ...]
    growth_partitions: tuple[int, ...] = ()
    growth_gigabytes: tuple[float, ...] = ()
    missing: str | None = None

    @property
    def peer_names(self) -> list[PeerName]:
        return list(dict.fromkeys(route.peer for route in self.routes))

    def routes_of(self, peer: PeerName) -> list[Route]:
        return [route for route in self.routes if route.peer == peer]

    def content(self, shape: Shape) -> TopicContent:
        count = shape.count(shape.records * self.scale, self.partitions)
        return TopicContent(f"lake-{shape.value_bytes}", self.partitions, count, shape)

    def warm_content(self, shape: Shape) -> TopicContent:
        share = max(self.scale * WARM_SHARE, WARM_SHARE_OF_FULL_MIN)
        count = shape.count(shape.records * share, self.partitions)
        return TopicContent(f"lake-warm-{shape.value_bytes}", self.partitions, count, shape)

    def partitioned_content(self, partitions: int) -> TopicContent:
        count = SMALL.count(GROWTH_RECORDS * self.scale, partitions)
        return TopicContent(f"lake-partitions-{partitions}", partitions, count, SMALL)

    def sized_content(self, gigabytes: float) -> TopicContent:
        """One topic that grows: each size has all records of the sizes before it."""
        count = LARGE.count_of_gigabytes(gigabytes * self.scale, self.partitions)
        return TopicContent("lake-sizes", self.partitions, count, LARGE)

    @property
    def step_count(self) -> int:
        """Measured runs, and topics to be filled."""
        fills = len(SHAPES) + len(self.growth_partitions) + len(self.growth_gigabytes)
        runs = self.rounds * len(SHAPES) + len(self.growth_partitions) + len(self.growth_gigabytes)
        return fills * len(self.peer_names) + runs * len(self.routes)


def maybe_obstacle(content: TopicContent, held: int, free_bytes: int) -> str | None:
    """Why a topic that holds so many records already is not filled: nobody wants a full disk."""
    missing_bytes = (content.records - held) * content.shape.record_bytes
    wanted_bytes = (missing_bytes + content.size_bytes) * DISK_FACTOR
    if wanted_bytes <= free_bytes:
        return None
    return f"{wanted_bytes / GIGABYTE:.0f} GB of disk wanted, {free_bytes / GIGABYTE:.0f} GB free"
