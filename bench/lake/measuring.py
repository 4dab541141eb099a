"""One measured run: a warm driver moves a topic, and what that cost is read around it."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from bench.lake.driver_process import DriverProcess
from bench.lake.orders import DriverSettings, Job
from bench.lake.outcomes import Measurement
from bench.lake.output_check import check_output
from bench.lake.process_tree import MemoryWatch, cpu_seconds
from bench.load.apart import apart

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bench.lake.routes import Route
    from bench.lake.shapes import TopicContent
    from bench.peers import Peer

WARM_LAPS = 3
"""The rate of Spark's connector rises over the first few runs of a session."""
SPARK, BROKER = "spark", "broker"


class RouteDriver:
    """A driver of one route, and a place for what it writes."""

    def __init__(self, route: Route, peer: Peer, driver: DriverProcess, directory: Path) -> None:
        self._route = route
        self._peer = peer
        self._driver = driver
        self._directory = directory

    def warm_up(self, content: TopicContent) -> None:
        """The same work on a small topic, some times over: Java and the kernel are compiled."""
        for _ in range(WARM_LAPS):
            with self._target() as target:
                self._driver.run(Job(content.topic, target))

    def measure(self, content: TopicContent) -> Measurement:
        """The files are checked, and gone at the end."""
        with self._target() as target:
            os.sync()  # what was written before is not this run's to wait for
            before = self._cpu_seconds()
            with MemoryWatch({SPARK: self._driver.pid, BROKER: self._peer.pid}) as watch:
                seconds = self._driver.run(Job(content.topic, target))
                after = self._cpu_seconds()
            output = apart(check_output, target, content)
        return Measurement(
            route=self._route,
            shape=content.shape.name,
            rows=content.records,
            size_bytes=content.size_bytes,
            seconds=seconds,
            broker_cpu_seconds=after[BROKER] - before[BROKER],
            spark_cpu_seconds=after[SPARK] - before[SPARK],
            spark_megabytes=watch.most[SPARK].resident_megabytes,
            spark_own_megabytes=watch.most[SPARK].own_megabytes,
            broker_megabytes=watch.most[BROKER].resident_megabytes,
            parquet_bytes=output.size_bytes,
            files=output.files,
        )

    def _cpu_seconds(self) -> dict[str, float]:
        return {SPARK: cpu_seconds(self._driver.pid), BROKER: cpu_seconds(self._peer.pid)}

    @contextmanager
    def _target(self) -> Iterator[str]:
        target = self._directory / "table"
        try:
            yield str(target)
        finally:
            if target.exists():  # a run that failed may have written nothing
                shutil.rmtree(target)


@contextmanager
def route_driver(
    route: Route, peer: Peer, jars: Sequence[str], parquet_codec: str, work_directory: Path
) -> Iterator[RouteDriver]:
    """A session of its own for each: what Java learned on one route is not used on another."""
    with tempfile.TemporaryDirectory(prefix="headrace-bench-lake-", dir=work_directory) as place:
        directory = Path(place)
        settings = DriverSettings(
            route.reader,
            peer.bootstrap_servers,
            str(directory / "spark"),
            tuple(jars) if route.is_connector else (),
            parquet_codec,
        )
        with DriverProcess(settings) as driver:
            yield RouteDriver(route, peer, driver, directory)
