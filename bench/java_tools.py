"""Kafka's own performance tools, pointed at either broker, and what they print."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from bench.peers import kafka_class_path
from bench.percentiles import P50, P99
from tests.interop.cache import cached_build, run_tool

if TYPE_CHECKING:
    from bench.peers import Peer

# What Kafka's scripts of these tools pass.
JAVA_OPTIONS = ("-Xms512M", "-Xmx512M", "-XX:-UsePerfData", "-Dlog4j2.level=WARN")
TOOL_SECONDS_MAX = 300.0
ERROR_CHARACTERS_MAX = 2_000
PRODUCER_TOOL = "org.apache.kafka.tools.ProducerPerformance"
CONSUMER_TOOL = "org.apache.kafka.tools.ConsumerPerformance"
PRODUCER_SUMMARY = re.compile(r"^(\d+) records sent, ([\d.]+) records/sec .*\d+th", re.MULTILINE)
TRANSACTION_FIGURES = re.compile(r"^figures: (\d+) (\d+) (\d+)$", re.MULTILINE)
# Kafka's clients warn of every transaction that has to wait for the one before it.
QUIET = ("-Dlog4j2.level=ERROR",)
TRANSACTIONS_PROGRAM = "TransactionRate"
SOURCES = Path(__file__).parent / "java"
CONSUMER_RATE_COLUMN = "fetch.nMsg.sec"
CONSUMER_COUNT_COLUMN = "data.consumed.in.nMsg"


class ToolFailed(RuntimeError):
    """A tool ended badly, or printed what nobody understands."""


def produce_with_java(peer: Peer, topic: str, count: int, size: int) -> float:
    """Records per second; the tool starts cold each time, for either broker."""
    output = _run_tool(
        *(PRODUCER_TOOL, "--topic", topic, "--num-records", str(count), "--throughput", "-1"),
        *("--record-size", str(size), "--bootstrap-server", peer.bootstrap_servers),
        *("--command-property", "acks=all", "batch.size=65536", "linger.ms=5"),
    )
    return producer_rate(output, count)


def consume_with_java(peer: Peer, topic: str, count: int, group: str) -> float:
    """Records per second from the first fetch on, so without joining the group."""
    output = _run_tool(
        *(CONSUMER_TOOL, "--bootstrap-server", peer.bootstrap_servers, "--topic", topic),
        *("--num-records", str(count), "--group", group),
    )
    return consumer_rate(output, count)


def transactions_with_java(
    *,
    bootstrap_servers: str,
    topic: str,
    partitions: int,
    producers: int,
    records: int,
    size: int,
    warm_seconds: float,
    seconds: float,
    label: str,
) -> dict[str, float]:
    """Transactions per second, and milliseconds; Kafka has no tool that does this."""
    numbers = (partitions, producers, records, size, warm_seconds, seconds)
    arguments = (bootstrap_servers, topic, *map(str, numbers), label)
    output = _run_tool(
        TRANSACTIONS_PROGRAM, *arguments, class_path=_own_class_path(), more_options=QUIET
    )
    return transaction_figures(output, seconds)


def transaction_figures(output: str, seconds: float) -> dict[str, float]:
    """Transactions, and two percentiles in microseconds."""
    found = TRANSACTION_FIGURES.search(output)
    if found is None:
        raise ToolFailed(f"no line of figures: {output[-ERROR_CHARACTERS_MAX:]}")
    count, median_us, late_us = map(int, found.groups())
    return {"rate": count / seconds, P50: median_us / 1e3, P99: late_us / 1e3}


def producer_rate(output: str, count: int) -> float:
    """The summary is the last line, the only one with percentiles."""
    summaries = PRODUCER_SUMMARY.findall(output)
    if not summaries or int(summaries[-1][0]) != count:
        raise ToolFailed(f"no summary of {count} records: {output[-ERROR_CHARACTERS_MAX:]}")
    return float(summaries[-1][1])


def consumer_rate(output: str, count: int) -> float:
    """A line of names and a line of values; the tool may read somewhat more than asked."""
    lines = [line for line in output.splitlines() if line.count(",") >= 9]
    if len(lines) < 2:
        raise ToolFailed(f"no line of values: {output[-ERROR_CHARACTERS_MAX:]}")
    names, values = ([cell.strip() for cell in line.split(",")] for line in lines[-2:])
    row = dict(zip(names, values, strict=True))
    if int(row[CONSUMER_COUNT_COLUMN]) < count:
        raise ToolFailed(f"{row[CONSUMER_COUNT_COLUMN]} of {count} records were read")
    return float(row[CONSUMER_RATE_COLUMN])


def _own_class_path() -> str:
    """Kafka, and our own program compiled against it."""
    sources = sorted(SOURCES.glob("*.java"))
    libraries = kafka_class_path()

    def build(target: Path) -> None:
        options = ["-encoding", "UTF-8", "-Xlint:all", "-Werror", "-cp", libraries]
        run_tool(["javac", *options, "-d", str(target), *map(str, sources)], target, {})

    classes = cached_build("bench-classes", sources, build)
    return os.pathsep.join([str(classes), libraries])


def _run_tool(
    main_class: str,
    *arguments: str,
    class_path: str | None = None,
    more_options: tuple[str, ...] = (),
) -> str:
    with tempfile.TemporaryDirectory(prefix="headrace-bench-java-") as temporary:
        options = [
            *JAVA_OPTIONS,
            f"-Djava.io.tmpdir={temporary}",
            "-cp",
            class_path or kafka_class_path(),
        ]
        try:
            result = subprocess.run(
                ["java", *options, *more_options, main_class, *arguments],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=TOOL_SECONDS_MAX,
            )
        except subprocess.TimeoutExpired:
            # Not with the command line: results are published, and it has paths of this machine.
            raise ToolFailed(f"{main_class}: not done after {TOOL_SECONDS_MAX:g} s") from None
    if result.returncode:
        raise ToolFailed(f"{main_class}: {result.stdout[-ERROR_CHARACTERS_MAX:]}")
    return result.stdout
