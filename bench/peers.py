"""The two brokers under measurement, behind one interface: started, stopped, killed, weighed.

Both keep their port and their directory over restarts. Kafka gets the heap and the collector of its
own start script and its own defaults otherwise; only what a single node needs is set.
"""

from __future__ import annotations

import compileall
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

import headrace
from tests.interop.broker_process import BrokerProcess
from tests.interop.kafka_tools import RealKafka, free_port, kafka_libraries, tools_missing
from tests.process.resources import cpu_seconds, peak_megabytes, resident_megabytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PeerName = Literal["headrace", "kafka"]
HEADRACE: PeerName = "headrace"
KAFKA: PeerName = "kafka"

KAFKA_VERSION = "4.3.0"
START_SECONDS_MAX = 300.0
STOP_SECONDS_MAX = 300.0
PROBE_SECONDS_MAX = 2.0
PROBE_INTERVAL_SECONDS = 0.005
LOG_TAIL_CHARACTERS = 4_000
SOURCES = Path(headrace.__file__).parent
NO_SETTINGS: Mapping[str, str] = {}

# Any id will do for a cluster of one node that nobody else talks to.
CLUSTER_ID = "aGVhZHJhY2UtYmVuY2gtMQ"
# What Kafka's own start script passes.
JAVA_OPTIONS = (
    "-Xms1G",
    "-Xmx1G",
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-Djava.awt.headless=true",
    "-XX:-UsePerfData",
    "-Dlog4j2.level=WARN",
)
# ApiVersions version 0: size, key 18, version 0, correlation id 1, no client id.
API_VERSIONS_REQUEST = struct.pack(">ihhih", 10, 18, 0, 1, -1)


class PeerFailed(RuntimeError):
    """A broker did not start or did not stop in time; the end of its log is in the message."""


class Peer(Protocol):
    """One broker process over one directory."""

    name: PeerName
    directory: Path

    @property
    def bootstrap_servers(self) -> str: ...

    @property
    def tls_bootstrap_servers(self) -> str:
        """Of a peer that was made with a listener for TLS."""

    @property
    def pid(self) -> int: ...

    def prepare(self) -> None:
        """What must be done once before the first start; `start` does it if nobody has."""

    def start(self) -> None:
        """Returns when the broker answers ApiVersions."""

    def stop(self) -> None:
        """A clean stop; returns when the process has ended."""

    def kill(self) -> None:
        """kill -9; nothing happens if it does not run."""

    def cpu_seconds(self) -> float: ...

    def resident_megabytes(self) -> float: ...

    def peak_megabytes(self) -> float: ...


class _Weighed(ABC):
    """What the kernel says about the process; all of a broker is one process."""

    tls_port: int | None

    @property
    @abstractmethod
    def pid(self) -> int: ...

    @property
    def tls_bootstrap_servers(self) -> str:
        if self.tls_port is None:
            raise PeerFailed("this broker has no listener for TLS")
        return f"127.0.0.1:{self.tls_port}"

    def cpu_seconds(self) -> float:
        return cpu_seconds(self.pid)

    def resident_megabytes(self) -> float:
        return resident_megabytes(self.pid)

    def peak_megabytes(self) -> float:
        return peak_megabytes(self.pid)


class HeadracePeer(_Weighed):
    """Headrace as `headrace serve` runs it."""

    name: PeerName = HEADRACE

    def __init__(
        self,
        directory: Path,
        settings: Mapping[str, str] = NO_SETTINGS,
        tls_port: int | None = None,
    ) -> None:
        self.directory = directory
        self.tls_port = tls_port
        self._is_running = False
        options = [part for name in settings for part in ("--set", f"{name}={settings[name]}")]
        if tls_port is not None:
            options += ["--listen", f"kafka+ssl://127.0.0.1:{tls_port}"]
        self._process = BrokerProcess(
            directory / "data",
            options,
            start_timeout_s=START_SECONDS_MAX,
            stop_timeout_s=STOP_SECONDS_MAX,
        )

    @property
    def bootstrap_servers(self) -> str:
        return self._process.bootstrap_servers

    @property
    def pid(self) -> int:
        return self._process.pid

    def prepare(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        compile_sources()

    def start(self) -> None:
        self.prepare()
        self._process.start()
        self._is_running = True
        if not answers_api_versions(self.bootstrap_servers):
            raise PeerFailed(f"Headrace does not answer: {self._process.log_tail()}")

    def stop(self) -> None:
        self._is_running = False
        status = self._process.terminate()
        if status != 0:
            raise PeerFailed(f"Headrace stopped with {status}: {self._process.log_tail()}")

    def kill(self) -> None:
        if self._is_running:
            self._is_running = False
            self._process.kill()


@cache
def compile_sources() -> None:
    """As for every installed package; an environment variable may keep Python from doing it."""
    compileall.compile_dir(SOURCES, quiet=1)


class KafkaPeer(_Weighed):
    """Apache Kafka as its own start script runs it, one node that is broker and controller."""

    name: PeerName = KAFKA

    def __init__(
        self,
        directory: Path,
        settings: Mapping[str, str] = NO_SETTINGS,
        tls_port: int | None = None,
    ) -> None:
        self.directory = directory
        self.tls_port = tls_port
        # RealKafka makes fewer of these partitions than Kafka's default, for quick tests.
        own = {"offsets.topic.num.partitions": "50", **settings}
        self._node = RealKafka(directory, own, tls_port)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap_servers(self) -> str:
        return self._node.bootstrap_servers

    @property
    def pid(self) -> int:
        return self._running().pid

    def prepare(self) -> None:
        if not (self.directory / "server.properties").exists():
            self._node.format(CLUSTER_ID)

    def start(self) -> None:
        if self._process is not None:
            raise PeerFailed("Kafka is running already")
        self.prepare()
        temporary = f"-Djava.io.tmpdir={self.directory}"  # native libraries are unpacked there
        command = ["java", *JAVA_OPTIONS, temporary, "-cp", kafka_class_path(), "kafka.Kafka"]
        with self._node.log_path.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, str(self.directory / "server.properties")],
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        deadline_s = time.monotonic() + START_SECONDS_MAX
        while not answers_api_versions(self.bootstrap_servers):
            if self._process.poll() is not None or time.monotonic() > deadline_s:
                self.kill()
                raise PeerFailed(f"Kafka did not start: {self._log_tail()}")
            time.sleep(PROBE_INTERVAL_SECONDS)

    def stop(self) -> None:
        process, self._process = self._running(), None
        process.terminate()
        try:
            process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise PeerFailed(f"Kafka did not stop: {self._log_tail()}") from None

    def kill(self) -> None:
        if self._process is not None:
            process, self._process = self._process, None
            process.kill()
            process.wait()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise PeerFailed("Kafka is not running")
        return self._process

    def _log_tail(self) -> str:
        return self._node.log_path.read_text("utf-8", "replace")[-LOG_TAIL_CHARACTERS:]


class PeerFactory:
    """Makes brokers of one kind, each over a fresh directory that is removed with it."""

    def __init__(self, name: PeerName, work_directory: Path) -> None:
        self.name = name
        self.work_directory = work_directory

    @contextmanager
    def peer(
        self, settings: Mapping[str, str] = NO_SETTINGS, *, has_tls: bool = False
    ) -> Iterator[Peer]:
        """A broker that is prepared and not started; at the end it is killed and wiped away."""
        prefix = f"headrace-bench-{self.name}-"
        directory = Path(tempfile.mkdtemp(prefix=prefix, dir=self.work_directory))
        tls_port = free_port() if has_tls else None
        peer: Peer = (
            HeadracePeer(directory, settings, tls_port)
            if self.name == HEADRACE
            else KafkaPeer(directory, settings, tls_port)
        )
        try:
            peer.prepare()
            yield peer
        finally:
            peer.kill()
            shutil.rmtree(directory)

    @contextmanager
    def started(
        self, settings: Mapping[str, str] = NO_SETTINGS, *, has_tls: bool = False
    ) -> Iterator[Peer]:
        """A broker that runs."""
        with self.peer(settings, has_tls=has_tls) as peer:
            peer.start()
            yield peer


def kafka_class_path() -> str:
    return f"{kafka_libraries()}{os.sep}*"


def kafka_missing() -> str | None:
    """Why Kafka cannot run here; None if it can."""
    return tools_missing()


def answers_api_versions(bootstrap_servers: str) -> bool:
    """Whether a broker takes a connection and answers the first request of every client."""
    host, port = bootstrap_servers.rsplit(":", 1)
    try:
        with socket.create_connection((host, int(port)), PROBE_SECONDS_MAX) as connection:
            connection.sendall(API_VERSIONS_REQUEST)
            answer = connection.recv(10)  # size, correlation id, error code
    except OSError:
        return False
    return len(answer) == 10 and struct.unpack(">iih", answer)[1:] == (1, 0)
