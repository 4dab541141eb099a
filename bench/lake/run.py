"""One run from start to report: one route at a time, in turns; A B C D, A B C D.

Each turn of a route is a driver process of its own, warmed on small topics before it is measured.
An error ends the turns of its route, not the run: the report then says what failed.
"""

from __future__ import annotations

import shutil
import time
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from bench.lake.batches import batches_of
from bench.lake.filling import add_records, make_topic
from bench.lake.machine import description
from bench.lake.measuring import route_driver
from bench.lake.outcomes import BY_PARTITIONS, BY_SIZE, GrowthPoint, Report
from bench.lake.plan import maybe_obstacle
from bench.lake.shapes import LARGE, SHAPES
from bench.memory import PageCache
from bench.peers import PeerFactory
from bench.rounds import described
from bench.topics import delete_topic

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from rich.console import Console

    from bench.lake.outcomes import Measurement
    from bench.lake.plan import Plan
    from bench.lake.routes import Route
    from bench.lake.shapes import Shape, TopicContent
    from bench.peers import Peer, PeerName


class Run:
    """A run under way."""

    def __init__(self, plan: Plan, work_directory: Path, console: Console) -> None:
        self._plan = plan
        self._work_directory = work_directory
        self._factories = {name: PeerFactory(name, work_directory) for name in plan.peer_names}
        self._batches = {shape: batches_of(shape, plan.codec) for shape in SHAPES}
        self._failed: set[Route] = set()
        self._page_cache = PageCache(work_directory)
        self._report = Report(
            started=datetime.now(UTC).isoformat(timespec="minutes"),
            mode=plan.mode,
            scale=plan.scale,
            rounds=plan.rounds,
            partitions=plan.partitions,
            codec=plan.codec,
            parquet_codec=plan.parquet_codec,
            machine=description(work_directory, plan),
            missing=plan.missing,
        )
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            # Often enough for an eye; each refresh takes CPU time from what is measured.
            refresh_per_second=1,
        )
        self._task = self._progress.add_task("start", total=plan.step_count)
        self._is_first_step = True

    def run(self) -> Report:
        started = time.monotonic()
        with closing(self._page_cache), self._progress:
            with ExitStack() as stack:
                peers = {
                    name: stack.enter_context(factory.started())
                    for name, factory in self._factories.items()
                }
                self._rounds(peers)
                if self._plan.growth_partitions:
                    self._growth_by_partitions(peers)
            if self._plan.growth_gigabytes:
                for name, factory in self._factories.items():
                    with factory.started() as peer:
                        self._growth_by_size(name, peer)
            self._progress.update(self._task, completed=self._plan.step_count, description="done")
        self._report.seconds = time.monotonic() - started
        return self._report

    # --- what is measured -------------------------------------------------------------------------

    def _rounds(self, peers: Mapping[PeerName, Peer]) -> None:
        contents = [self._plan.content(shape) for shape in SHAPES]
        for peer in peers.values():
            for content in contents:
                self._make_warm_topic(peer, content.shape)
                self._make_topic(peer, content)
        for number in range(1, self._plan.rounds + 1):
            for route in self._plan.routes:
                found = self._turn(route, peers[route.peer], contents, f"round {number}")
                self._report.measurements.extend(found)
        for peer in peers.values():
            for content in contents:
                delete_topic(peer, content.topic)

    def _growth_by_partitions(self, peers: Mapping[PeerName, Peer]) -> None:
        contents = [self._plan.partitioned_content(x) for x in self._plan.growth_partitions]
        for peer in peers.values():
            for content in contents:
                self._make_topic(peer, content)
        for route in self._plan.routes:
            found = self._turn(route, peers[route.peer], contents, BY_PARTITIONS)
            for content, measurement in zip(contents, found, strict=False):
                self._add_point(BY_PARTITIONS, content.partitions, measurement)

    def _growth_by_size(self, name: PeerName, peer: Peer) -> None:
        """One broker at a time: two of the largest topics may not fit on the disk."""
        self._make_warm_topic(peer, LARGE)
        held = 0
        for gigabytes in self._plan.growth_gigabytes:
            content = self._plan.sized_content(gigabytes)
            free_bytes = shutil.disk_usage(self._work_directory).free
            if obstacle := maybe_obstacle(content, held, free_bytes):
                self._report.left_out.append(f"{gigabytes:g} GB on {name}: {obstacle}")
                return
            if held:
                self._step(f"{name}: add to {content.topic}")
                add_records(peer, content, self._batches[LARGE], content.records - held)
            else:
                self._make_topic(peer, content)
            held = content.records
            for route in self._plan.routes_of(name):
                for measurement in self._turn(route, peer, [content], f"{gigabytes:g} GB"):
                    self._add_point(BY_SIZE, content.size_bytes / 1e9, measurement)

    def _turn(
        self, route: Route, peer: Peer, contents: Sequence[TopicContent], label: str
    ) -> list[Measurement]:
        """One driver brings all of these topics to Parquet, each once."""
        found: list[Measurement] = []
        if route in self._failed:
            return found
        plan = self._plan
        warm: set[Shape] = set()
        try:
            with route_driver(
                route, peer, plan.jars, plan.parquet_codec, self._work_directory
            ) as driver:
                for content in contents:
                    self._step(f"{route.name}, {content.topic}, {label}")
                    if content.shape not in warm:
                        driver.warm_up(plan.warm_content(content.shape))
                        warm.add(content.shape)
                    # Files are written into memory first, and memory has to be in use for that.
                    self._page_cache.turn_over()
                    found.append(driver.measure(content))
        except Exception as failure:
            self._failed.add(route)
            self._report.errors.append(f"{route.name}, {label}: {described(failure)}")
        return found

    # --- topics, points, progress -----------------------------------------------------------------

    def _make_warm_topic(self, peer: Peer, shape: Shape) -> None:
        make_topic(peer, self._plan.warm_content(shape), self._batches[shape])

    def _make_topic(self, peer: Peer, content: TopicContent) -> None:
        self._step(f"{peer.name}: fill {content.topic}")
        make_topic(peer, content, self._batches[content.shape])

    def _add_point(self, curve: str, x: float, measurement: Measurement) -> None:
        self._report.growth.append(GrowthPoint(curve, x, measurement))

    def _step(self, what: str) -> None:
        """The step before is over, this one begins."""
        self._progress.update(self._task, advance=0 if self._is_first_step else 1, description=what)
        self._is_first_step = False
