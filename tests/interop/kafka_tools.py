"""A real Apache Kafka beside ours: the server over a directory, and DumpLogSegments over files.

Everything is fetched by Maven into the cache directory; needs `mvn` and a Java 17 runtime.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from .cache import HERE, maven_libraries
from .deadline import DeadlinePassed, wait_until

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

HEAP_OPTIONS = ("-Xms256m", "-Xmx1g")
TOOL_TIMEOUT_S = 60.0
START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 60.0
LOG_TAIL_CHARACTERS = 4_000
FAULT_WORDS = ("mismatch", "corrupt", "exception", "invalid", "could not", "found timestamp")


def tools_missing() -> str | None:
    """Why a real Kafka cannot run here; None if it can."""
    missing = [tool for tool in ("mvn", "java") if shutil.which(tool) is None]
    return f"{' and '.join(missing)} not on this machine" if missing else None


def kafka_libraries() -> Path:
    return maven_libraries("kafka-server", HERE / "java" / "kafka-server-pom.xml")


def run_kafka_class(main_class: str, *arguments: str) -> str:
    """Run one of Kafka's command-line classes; its output, or an error that contains it."""
    result = subprocess.run(
        _java(main_class, *arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TOOL_TIMEOUT_S,
    )
    if result.returncode:
        raise RuntimeError(f"{main_class} {' '.join(arguments)} failed:\n{result.stdout}")
    return result.stdout


def _java(main_class: str, *arguments: str) -> list[str]:
    jars = f"{kafka_libraries()}{os.sep}*"
    return ["java", *HEAP_OPTIONS, "-Dlog4j2.level=WARN", "-cp", jars, main_class, *arguments]


@dataclass(frozen=True)
class Dump:
    """What DumpLogSegments printed, and the lines in it that report a fault."""

    text: str

    @property
    def faults(self) -> list[str]:
        return [line for line in self.text.splitlines() if _reports_fault(line)]

    @property
    def batch_lines(self) -> list[str]:
        return [line for line in self.text.splitlines() if line.startswith("baseOffset:")]

    @property
    def record_lines(self) -> list[str]:
        return [line for line in self.text.splitlines() if line.startswith("| offset:")]


def _reports_fault(line: str) -> bool:
    if line.startswith("baseOffset:"):
        return "isvalid: false" in line
    if line.startswith("| offset:"):  # payloads are free text
        return False
    return any(word in line.lower() for word in FAULT_WORDS)


def dump_log_segments(files: Sequence[Path], *options: str) -> Dump:
    """DumpLogSegments over `files`; pass e.g. `--deep-iteration`, `--offsets-decoder`."""
    joined = ",".join(str(path) for path in files)
    tool = "org.apache.kafka.tools.DumpLogSegments"
    return Dump(run_kafka_class(tool, "--files", joined, *options))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass
class RealKafka:
    """Apache Kafka 4.3.0, one node that is broker and controller, over `directory`."""

    directory: Path
    settings: dict[str, str] = field(default_factory=dict)
    tls_port: int | None = None
    """Of a second listener for clients; the settings then say which certificate it has."""

    def __post_init__(self) -> None:
        self._port = free_port()
        self._controller_port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self.data_directory = self.directory / "data"
        self.log_path = self.directory / "kafka.log"

    @property
    def bootstrap_servers(self) -> str:
        return f"127.0.0.1:{self._port}"

    def with_directory(self, directory: Path) -> RealKafka:
        """The same node (same ports) over another directory; only one of them may run."""
        other = RealKafka(directory, self.settings, self.tls_port)
        other._port, other._controller_port = self._port, self._controller_port
        directory.mkdir(parents=True, exist_ok=True)
        return other

    def format(self, cluster_id: str | None = None) -> None:
        """Prepare an empty directory, with a given cluster id if one is wanted."""
        self.directory.mkdir(parents=True, exist_ok=True)
        tool = "kafka.tools.StorageTool"
        chosen = cluster_id or run_kafka_class(tool, "random-uuid").strip().splitlines()[-1]
        config = str(self._write_properties())
        run_kafka_class(tool, "format", "--standalone", "-t", chosen, "-c", config)

    def start(self) -> None:
        config = self._write_properties()
        with self.log_path.open("ab") as log:
            command = _java("kafka.Kafka", str(config))
            self._process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        wait_until(self._answers, "Kafka is up", START_TIMEOUT_S, self.log_tail)

    def stop(self) -> None:
        """A controlled shutdown: Kafka flushes and writes its snapshots."""
        if self._process is None:
            return
        process, self._process = self._process, None
        process.terminate()
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise DeadlinePassed(f"Kafka did not stop: {self.log_tail()}") from None

    def log_tail(self) -> str:
        return self.log_path.read_text("utf-8", "replace")[-LOG_TAIL_CHARACTERS:]

    def __enter__(self) -> RealKafka:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def _answers(self) -> bool:
        process = self._process
        if process is None or process.poll() is not None:
            raise DeadlinePassed(f"Kafka ended while starting: {self.log_tail()}")
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", self._port)) != 0:
                return False
        try:
            admin = AdminClient({"bootstrap.servers": self.bootstrap_servers})
            return bool(admin.list_topics(timeout=2).brokers)
        except KafkaException:
            return False

    def _write_properties(self) -> Path:
        client = f"PLAINTEXT://127.0.0.1:{self._port}"
        controller = f"CONTROLLER://127.0.0.1:{self._controller_port}"
        listeners, protocols = [client, controller], "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT"
        if self.tls_port is not None:
            listeners.append(f"SSL://127.0.0.1:{self.tls_port}")
            protocols += ",SSL:SSL"
        properties = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.bootstrap.servers": f"127.0.0.1:{self._controller_port}",
            "listeners": ",".join(listeners),
            "advertised.listeners": ",".join(listeners),
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "PLAINTEXT",
            "listener.security.protocol.map": protocols,
            "log.dirs": str(self.data_directory),
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "4",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            **self.settings,
        }
        path = self.directory / "server.properties"
        path.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
        return path
