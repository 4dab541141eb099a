"""Brokers that own a directory of files: Headrace and Apache Kafka behind one small face.

The tests of files are about Headrace; `HEADRACE_TEST_FILES_BY=kafka` puts a real Kafka in its
place, which proves that the tests ask for nothing that Kafka itself does not do.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Protocol

from .broker_process import BrokerProcess
from .kafka_tools import RealKafka

if TYPE_CHECKING:
    from pathlib import Path

FILES_VARIABLE = "HEADRACE_TEST_FILES_BY"
CONTROLLER_LOG = "__cluster_metadata-0"


class FileBroker(Protocol):
    """A broker over a data directory."""

    @property
    def bootstrap_servers(self) -> str: ...

    @property
    def data_directory(self) -> Path: ...

    def start(self) -> None: ...

    def stop(self) -> None: ...


class HeadraceOverFiles:
    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.data_directory = directory / "data"
        self._process = BrokerProcess(self.data_directory)

    @property
    def bootstrap_servers(self) -> str:
        return self._process.bootstrap_servers

    def start(self) -> None:
        self._process.start()

    def stop(self) -> None:
        status = self._process.terminate()
        assert status == 0, f"the broker ended with {status}: {self._process.log_tail()}"


def _tests_kafka() -> bool:
    return os.environ.get(FILES_VARIABLE, "headrace") == "kafka"


def broker_under_test(directory: Path) -> FileBroker:
    """A new broker over an empty directory."""
    if not _tests_kafka():
        return HeadraceOverFiles(directory)
    kafka = RealKafka(directory)
    kafka.format()
    return kafka


def successor_of(kafka: RealKafka, directory: Path) -> FileBroker:
    """The broker under test over a copy of what a stopped Kafka left behind."""
    successor: FileBroker = HeadraceOverFiles(directory)
    if _tests_kafka():
        successor = kafka.with_directory(directory)
    shutil.copytree(kafka.data_directory, successor.data_directory)
    return successor


def cluster_id(data_directory: Path) -> str:
    lines = (data_directory / "meta.properties").read_text("utf-8").splitlines()
    return next(line.split("=", 1)[1] for line in lines if line.startswith("cluster.id="))


def topic_logs(data_directory: Path, suffix: str, internal: bool = False) -> list[Path]:
    """Files of topics with this suffix; `internal` picks `__consumer_offsets` and its like."""
    return sorted(
        path
        for path in data_directory.glob(f"*/*{suffix}")
        if path.parent.name != CONTROLLER_LOG and path.parent.name.startswith("__") == internal
    )
