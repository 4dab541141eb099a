"""Definitions for tests, and workers that need no Spark."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from headrace.pipeline.jobs.definition import JobDefinition, parse_definition

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from headrace.pipeline.jobs.state import JobDirectory

PARQUET = """
[job]
name = "orders"

[source]
topic = "orders"
bootstrap = "broker:9092"

[source.options]
"kafka.sasl.password" = "${SECRET}"
maxOffsetsPerTrigger = 1000

[sink]
format = "delta"
path = "/lake/orders"
schema = "json"
trigger = "2 seconds"
"""

SQL = """
[job]
name = "big"
[source]
pattern = "orders-.*"
[transform]
sql = "SELECT key, value FROM source"
[sink]
format = "headrace"
topic = "big-orders"
trigger = "available-now"
"""


def definition(text: str = PARQUET) -> JobDefinition:
    return parse_definition(text)


def prepared(root: Path, text: str = PARQUET) -> JobDirectory:
    from headrace.pipeline.jobs.state import StateDirectory

    parsed = definition(text)
    job = StateDirectory(root).job(parsed.name)
    job.prepare(parsed)
    return job


WORKER = """
import json, os, signal, sys, time
reports = os.fdopen(int(sys.argv[sys.argv.index("--reports") + 1]), "w", buffering=1)
def report(**values):
    reports.write(json.dumps(values) + chr(10))
"""


def worker(body: str) -> list[str]:
    """The command of a worker that does what ``body`` says."""
    return [sys.executable, "-c", WORKER + body]


WAIT_SECONDS_MAX = 30.0


def until(condition: Callable[[], bool]) -> None:
    """Wait for what another process does; fails if it does not."""
    deadline = time.monotonic() + WAIT_SECONDS_MAX
    while not condition():
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.01)
