"""What the growth curves have in common: how a step is measured.

One broker grows from step to step. At each step it is loaded by raw connections, whose own cost
does not depend on the number of partitions (librdkafka's does); then stopped, started, killed and
started again, each start timed to its first acknowledged record. Before each load it is warmed for
a few seconds, as every start makes a new process.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bench.figures import Point, Series
from bench.load.apart import apart
from bench.load.closed_loop import Load, Target, run_load
from bench.load.frames import ProduceFrames, batch_of
from bench.load.probe import Probe
from bench.load.topics import touch
from bench.percentiles import P50, P99, percentiles
from bench.work.first_record import first_record_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bench.peers import Peer

RATE_CONNECTIONS = 8
RATE_SECONDS = 4.0
RATE_RECORDS_PER_BATCH = 100
LATENCY_SECONDS = 2.0
WARM_SECONDS = 3.0
SECONDS_MIN = 1.0
VALUE = b"x" * 100
GIGABYTE = 1_000_000_000
MEGABYTE = 1_000_000
MILLISECONDS = 1_000.0

WORK_SECONDS_MAX = 330.0
"""A broker that needs longer for all steps of a work does not get to the last of them."""
KILL_FACTOR = 3.0
"""A start after kill -9 may take so many times a clean one; without that time it is left out."""

Topic = tuple[str, int]
"""A name, and a number of partitions."""

log = logging.getLogger("bench")


class Budget:
    """The time that is left for a work."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._end_s = clock() + seconds

    @property
    def left_s(self) -> float:
        return self._end_s - self._clock()


@dataclass
class Curves:
    """Points under the name of their curve, in the order in which the names first came."""

    x_label: str
    about: str
    _curves: dict[tuple[str, str], list[Point]] = field(default_factory=dict)

    def add(self, x: float, name: str, y_label: str, y: float) -> None:
        self._curves.setdefault((name, y_label), []).append(Point(x, y))

    def series(self) -> list[Series]:
        return [
            Series(f"{name} by {self.about}", self.x_label, y_label, tuple(points))
            for (name, y_label), points in self._curves.items()
        ]


def targets(topics: Iterable[Topic], records: int) -> list[Target]:
    """All partitions of these topics, each to get batches of so many records."""
    batch = batch_of(VALUE, records)
    return [
        (frames, partition)
        for name, partitions in topics
        for frames in (ProduceFrames(name, batch),)
        for partition in range(partitions)
    ]


def add_load(peer: Peer, curves: Curves, x: float, topics: list[Topic], scale: float) -> None:
    """Produce rate, latency and memory, after a few seconds of the same load as warm-up."""
    address = peer.bootstrap_servers
    rate_load = Load(
        targets(topics, RATE_RECORDS_PER_BATCH),
        RATE_CONNECTIONS,
        max(RATE_SECONDS * scale, SECONDS_MIN),
        warm_seconds=WARM_SECONDS * scale,
    )
    rate = apart(run_load, address, rate_load).requests_per_second * RATE_RECORDS_PER_BATCH
    curves.add(x, "produce rate", "records/s", rate)
    add_latency(peer, curves, x, targets(topics, 1), scale)
    curves.add(x, "resident memory", "MB", peer.resident_megabytes())


def add_latency(
    peer: Peer, curves: Curves, x: float, partitions: list[Target], scale: float
) -> None:
    """One synchronous producer, one record per request."""
    seconds = max(LATENCY_SECONDS * scale, SECONDS_MIN)
    load = Load(partitions, 1, seconds, warm_seconds=SECONDS_MIN)
    latencies_s = apart(run_load, peer.bootstrap_servers, load).latencies_s
    measured_s = percentiles(latencies_s)
    for name in (P50, P99):
        curves.add(x, f"synchronous produce {name}", "ms", measured_s[name] * MILLISECONDS)


def add_starts(peer: Peer, curves: Curves, x: float, topics: list[Topic], budget: Budget) -> None:
    """A clean stop and a start; then a record everywhere, kill -9 and a start."""
    probe = Probe(topics[-1][0])
    peer.stop()
    seconds = first_record_seconds(peer, probe)
    curves.add(x, "start after a clean stop", "s", seconds)
    if seconds * KILL_FACTOR > budget.left_s:
        log.warning("%s: no kill -9 at %g %s: no time left", peer.name, x, curves.x_label)
        return
    for name, partitions in topics:
        touch(peer, name, partitions)
    peer.kill()
    curves.add(x, "start after kill -9", "s", first_record_seconds(peer, probe))
