"""A standalone cluster of Spark on this machine: a master and workers, each a process of its own.

They come from the installed pyspark, listen on the loopback interface on free ports, and get a
small memory. Nothing of Headrace is on their path: what executors need, a job must send.
"""

from __future__ import annotations

import os
import re
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from headrace.pipeline.java import find_java
from tests.interop.deadline import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

WORKERS = 2
START_SECONDS_MAX = 120.0
STOP_SECONDS_MAX = 30.0
POLL_SECONDS = 0.2
MASTER_CLASS = "org.apache.spark.deploy.master.Master"
WORKER_CLASS = "org.apache.spark.deploy.worker.Worker"
JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_MASTER_URL = re.compile(r"Starting Spark master at (spark://\S+)")

SPARK_SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "600m",
    "spark.driver.extraJavaOptions": JAVA_OPTIONS,
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    "spark.executor.extraJavaOptions": JAVA_OPTIONS,
    "spark.cores.max": str(WORKERS),
    # Not before both are there: each shall have its part.
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "60s",
    "spark.sql.shuffle.partitions": "2",
}
"""Of a job on this cluster."""


class SparkCluster(NamedTuple):
    """Where jobs go, and where workers keep what their executors said."""

    master_url: str
    work_directories: tuple[Path, ...]

    def busy_workers(self) -> int:
        """How many workers have had an executor that finished a task, since ``forget``."""
        return sum(any(map(_has_finished_a_task, _logs(each))) for each in self.work_directories)

    def forget(self) -> None:
        """What executors said until now counts no more."""
        for directory in self.work_directories:
            for log in _logs(directory):
                log.unlink()


@contextmanager
def spark_cluster(directory: Path, environment: Mapping[str, str]) -> Iterator[SparkCluster]:
    """``environment`` is for the workers alone, and with them for all executors."""
    running: list[subprocess.Popen[bytes]] = []
    listening = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
    try:
        master_log = directory / "master.log"
        running.append(_start(master_log, {}, MASTER_CLASS, *listening))
        wait_until(
            lambda: _MASTER_URL.search(master_log.read_text()) is not None,
            "a Spark master",
            START_SECONDS_MAX,
            master_log.read_text,
            POLL_SECONDS,
        )
        found = _MASTER_URL.search(master_log.read_text())
        assert found is not None
        works = tuple(directory / f"work-{number}" for number in range(WORKERS))
        for work in works:
            size = ("--cores", "1", "--memory", "1g", "--work-dir", str(work))
            log = work.with_suffix(".log")
            running.append(_start(log, environment, WORKER_CLASS, *listening, *size, found[1]))
        wait_until(
            lambda: master_log.read_text().count("Registering worker") == WORKERS,
            "Spark workers",
            START_SECONDS_MAX,
            master_log.read_text,
            POLL_SECONDS,
        )
        yield SparkCluster(found[1], works)
    finally:
        for process in reversed(running):
            _end(process)


def _start(log: Path, environment: Mapping[str, str], *command: str) -> subprocess.Popen[bytes]:
    import pyspark

    home = Path(pyspark.__file__).parent
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with log.open("wb") as file:
        return subprocess.Popen(
            [str(home / "bin" / "spark-class"), *command],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            cwd=log.parent,
            env={
                **inherited,
                "SPARK_HOME": str(home),
                "JAVA_HOME": find_java().home,
                "SPARK_LOCAL_IP": "127.0.0.1",
                "SPARK_DAEMON_MEMORY": "256m",
                "SPARK_DAEMON_JAVA_OPTS": JAVA_OPTIONS,
                **environment,
            },
        )


def _end(process: subprocess.Popen[bytes]) -> None:
    """A worker that ends takes its executors along."""
    process.terminate()
    try:
        process.wait(STOP_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _logs(work: Path) -> list[Path]:
    return sorted(work.glob("app-*/*/stderr"))


def _has_finished_a_task(log: Path) -> bool:
    return "Finished task" in log.read_text(errors="replace")
