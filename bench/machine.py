"""The machine and the versions, as far as figures depend on them; no name of it and no path."""

from __future__ import annotations

import os
import platform
import re
import shutil
import statistics
import subprocess
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import confluent_kafka

from bench.peers import KAFKA_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable

SYNC_BYTES = 4_096
SYNC_SAMPLES = 50
TOOL_SECONDS_MAX = 30.0


def description(work_directory: Path, *, has_kafka: bool) -> dict[str, str]:
    """What to print above the figures."""
    found: dict[str, Callable[[], str]] = {
        "cores": lambda: str(len(os.sched_getaffinity(0))),
        "CPU": cpu_model,
        "memory": memory,
        "fdatasync of 4 KiB": lambda: sync_time(work_directory),
        "kernel": lambda: f"{platform.system()} {platform.release()}",
        "Python": platform.python_version,
        "Java": java_version,
        "librdkafka": lambda: confluent_kafka.libversion()[0],
        "Headrace": lambda: version("headrace"),
        "Apache Kafka": lambda: f"{KAFKA_VERSION} (1 GiB heap, G1)" if has_kafka else "not run",
    }
    return {name: look() for name, look in found.items()}


def cpu_model() -> str:
    text = Path("/proc/cpuinfo").read_text()
    match = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return match[1].strip() if match else platform.machine()


def memory() -> str:
    text = Path("/proc/meminfo").read_text()
    match = re.search(r"^MemTotal:\s*(\d+) kB", text, re.MULTILINE)
    return f"{int(match[1]) / 2**20:.1f} GiB" if match else "unknown"


def java_version() -> str:
    if shutil.which("java") is None:
        return "none"
    shown = subprocess.run(
        ["java", "-version"], stderr=subprocess.PIPE, text=True, timeout=TOOL_SECONDS_MAX
    )
    match = re.search(r'version "([^"]+)"', shown.stderr)
    return match[1] if match else "unknown"


def sync_time(directory: Path) -> str:
    """The median of some writes with fdatasync: what fsync durability costs at least."""
    times_ms = []
    with tempfile.TemporaryFile(dir=directory) as file:
        for _ in range(SYNC_SAMPLES):
            os.write(file.fileno(), b"x" * SYNC_BYTES)
            started = time.perf_counter()
            os.fdatasync(file.fileno())
            times_ms.append((time.perf_counter() - started) * 1e3)
    return f"{statistics.median(times_ms):.2f} ms"
