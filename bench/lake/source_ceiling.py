"""The most that a source in Python can do for Spark: `python -m bench.lake.source_ceiling`.

A source that yields Arrow batches which are there already, of the same columns and as many rows,
goes into the same writer, in the same kind of session, warmed in the same way. No source that is
written in Python can be faster. Beside it, what Spark's own reader of Parquet files gives as input,
and in the same run the ways from a topic: the connector's best is what the bars compare with.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import duckdb
from rich.console import Console
from rich.table import Table

from bench.lake.batches import batches_of
from bench.lake.driver_process import DriverProcess
from bench.lake.filling import make_topic
from bench.lake.measuring import WARM_LAPS
from bench.lake.orders import DriverSettings, Job
from bench.lake.output_check import PATTERN
from bench.lake.plan import PARTIAL, PARTITIONS, Plan
from bench.lake.routes import CEILING_ROUTES, ENGINE, ROUTES, SOURCE
from bench.lake.shapes import SHAPES
from bench.memory import PageCache
from bench.peers import KAFKA, PeerFactory, kafka_missing
from tests.pipeline.connector_jars import connector

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bench.lake.routes import Route
    from bench.lake.shapes import TopicContent
    from bench.peers import Peer, PeerName

CODEC, PARQUET_CODEC = "lz4", "snappy"
SCALE = 0.3


class Found(NamedTuple):
    """One measured run."""

    route: Route
    shape: str
    rows_per_second: float


class RowsMissing(RuntimeError):
    """A rate of rows that are not there is no rate."""


class Ceiling:
    """The topics, the drivers, and a place for what they write."""

    def __init__(
        self, plan: Plan, place: Path, peers: Mapping[PeerName, Peer], page_cache: PageCache
    ) -> None:
        self._plan = plan
        self._place = place
        self._peers = peers
        self._page_cache = page_cache

    def fill(self) -> None:
        for shape in SHAPES:
            batches = batches_of(shape, self._plan.codec)
            for peer in self._peers.values():
                for content in (self._plan.warm_content(shape), self._plan.content(shape)):
                    make_topic(peer, content, batches)

    def make_inputs(self) -> None:
        """The engine's files of every topic."""
        with self._driver(ENGINE) as driver:
            for shape in SHAPES:
                for content in (self._plan.warm_content(shape), self._plan.content(shape)):
                    driver.run(Job(content.topic, str(self._place / "inputs" / content.topic)))

    def turn(self, route: Route) -> list[Found]:
        found = []
        with self._driver(route) as driver:
            for shape in SHAPES:
                for _ in range(WARM_LAPS):
                    self._seconds(driver, self._plan.warm_content(shape))
                self._page_cache.turn_over()
                content = self._plan.content(shape)
                found.append(
                    Found(route, shape.name, content.records / self._seconds(driver, content))
                )
        return found

    def _seconds(self, driver: DriverProcess, content: TopicContent) -> float:
        target = self._place / "table"
        job = Job(
            content.topic,
            str(target),
            content.records,
            content.partitions,
            content.shape.value_bytes,
        )
        os.sync()
        seconds = driver.run(job)
        raise_if_missing(target, content.records)
        shutil.rmtree(target)
        return seconds

    def _driver(self, route: Route) -> DriverProcess:
        settings = DriverSettings(
            route.reader,
            self._peers[route.peer].bootstrap_servers,
            str(self._place / "spark"),
            self._plan.jars if route.is_connector else (),
            self._plan.parquet_codec,
            str(self._place / "inputs"),
        )
        return DriverProcess(settings)


def raise_if_missing(target: Path, records: int) -> None:
    """Ready batches repeat their offsets: there is nothing to look at but how many there are."""
    with duckdb.connect() as connection:
        found = connection.execute(
            "SELECT count(*) FROM read_parquet(?)", [f"{target}/{PATTERN}"]
        ).fetchall()
    if found != [(records,)]:
        raise RowsMissing(f"{found[0][0]} rows instead of {records}")


def sheet(measured: Sequence[Found]) -> Table:
    """The best of each, as rows/s and as a ratio to the best of all connectors."""
    table = Table(title="Into Spark's own Parquet writer")
    for heading in ("records", "way", "rows/s", "of the best connector run's"):
        table.add_column(heading, justify="left" if heading in ("records", "way") else "right")
    for shape in SHAPES:
        of_shape = [one for one in measured if one.shape == shape.name]
        best = max(
            (one.rows_per_second for one in of_shape if one.route.is_connector), default=None
        )
        for route in dict.fromkeys(one.route for one in of_shape):
            rate = max(one.rows_per_second for one in of_shape if one.route == route)
            ratio = "" if best is None else f"{rate / best:.2f}"
            table.add_row(shape.name, route.title, f"{rate:,.0f}", ratio)
    return table


def routes_of(*, has_connector: bool, has_kafka: bool) -> tuple[Route, ...]:
    """The connectors that can be had, our source, and what no source can exceed."""
    connectors = [
        route
        for route in ROUTES
        if route.is_connector and has_connector and (has_kafka or route.peer != KAFKA)
    ]
    return (*connectors, SOURCE, *CEILING_ROUTES)


def measure(plan: Plan, work_directory: Path) -> list[Found]:
    """All routes in turns; what is found is also said at once."""
    measured = []
    with ExitStack() as stack:
        place = tempfile.TemporaryDirectory(prefix="headrace-bench-lake-", dir=work_directory)
        directory = Path(stack.enter_context(place))
        peers = {
            name: stack.enter_context(PeerFactory(name, work_directory).started())
            for name in plan.peer_names
        }
        page_cache = stack.enter_context(closing(PageCache(directory)))
        ceiling = Ceiling(plan, directory, peers, page_cache)
        ceiling.fill()
        ceiling.make_inputs()
        for route in plan.routes * plan.rounds:
            for found in ceiling.turn(route):
                line = f"{found.shape}, {route.title}: {found.rows_per_second:,.0f} rows/s"
                print(line, flush=True)
                measured.append(found)
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.lake.source_ceiling", description=__doc__
    )
    parser.add_argument("--scale", type=float, default=SCALE, help=f"amount of records ({SCALE})")
    parser.add_argument("--rounds", type=int, default=1, help="(1)")
    parser.add_argument("--work-dir", type=Path, default=Path(tempfile.gettempdir()))
    options = parser.parse_args()
    found = connector()
    missing = found.missing or kafka_missing()
    routes = routes_of(has_connector=bool(found.jars), has_kafka=not missing)
    jars = tuple(str(jar) for jar in found.jars)
    plan = Plan(
        PARTIAL, routes, options.scale, options.rounds, PARTITIONS, CODEC, PARQUET_CODEC, jars
    )
    Console().print(sheet(measure(plan, options.work_dir)))


if __name__ == "__main__":
    main()
