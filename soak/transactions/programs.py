"""The kinds of clients, as command lines: librdkafka, and Java of both protocol generations.

Kafka's client 4 speaks the second generation of the transaction protocol where the broker's feature
``transaction.version`` is 2; its client 3 and librdkafka know only the first.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from tests.interop.cache import cached_build, maven_libraries, run_tool

if TYPE_CHECKING:
    from soak.transactions.task import Task

Client = Literal["librdkafka", "java", "java-v1"]
CLIENTS: tuple[Client, ...] = get_args(Client)
SOURCES = Path(__file__).parent / "java"
LIBRARIES = {"java": "clients-4", "java-v1": "clients-3"}
JAVA_OPTIONS = (
    "-Xmx128m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
)
"""Short lives of many processes: start quickly, stay small."""
READ_SECONDS_MAX = 300.0


def missing_tools(client: Client) -> str | None:
    """Why this client cannot run here; None if it can."""
    if client == "librdkafka":
        return None
    missing = [tool for tool in ("mvn", "javac", "java") if shutil.which(tool) is None]
    return f"{', '.join(missing)} not on this machine" if missing else None


def processor_command(client: Client, task: Task) -> list[str]:
    if client == "librdkafka":
        program = [sys.executable, "-m", "soak.transactions.processor"]
    else:
        program = [*java_command(client), "TransactionalProcessor"]
    return [*program, *task.to_arguments()]


def java_command(client: Client) -> list[str]:
    return ["java", *JAVA_OPTIONS, "-cp", java_class_path(client)]


def java_class_path(client: Client) -> str:
    """The same sources, compiled against and run with one version of Kafka's client."""
    pom = SOURCES / f"{LIBRARIES[client]}-pom.xml"
    return compiled(f"soak-{client}", pom, sorted(SOURCES.glob("*.java")))


def compiled(name: str, pom: Path, sources: list[Path]) -> str:
    """The class path of some Java sources and of the libraries that a POM names."""
    libraries = maven_libraries(f"{name}-libraries", pom)

    def build(target: Path) -> None:
        options = ["-encoding", "UTF-8", "-Xlint:all", "-Werror", "-cp", f"{libraries}{os.sep}*"]
        run_tool(["javac", *options, "-d", str(target), *map(str, sources)], target, {})

    classes = cached_build(f"{name}-classes", [pom, *sources], build)
    return os.pathsep.join([str(classes), f"{libraries}{os.sep}*"])


def read_with_java(
    client: Client, bootstrap_servers: str, topic: str, isolation_level: str
) -> list[tuple[int, int, bytes]]:
    """Partition, offset and value of every record that the Java consumer shows."""
    command = [*java_command(client), "IsolatedReader", bootstrap_servers, topic, isolation_level]
    result = subprocess.run(command, capture_output=True, timeout=READ_SECONDS_MAX)
    if result.returncode:
        raise RuntimeError(f"the Java reader failed: {result.stderr.decode()}")
    lines = (line.split(b" ", 2) for line in result.stdout.splitlines())
    return [(int(partition), int(offset), value) for partition, offset, value in lines]
