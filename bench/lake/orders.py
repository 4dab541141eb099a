"""What is said between the bench and a driver: plain values, which travel as JSON lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

ANSWER = "answer: "
"""Before each line that is meant for whoever gives the jobs: libraries may print, too."""
MASTER = "local[2]"
HEAP = "4g"


@dataclass(frozen=True)
class DriverSettings:
    """What stays the same for all jobs of a driver."""

    reader: str
    bootstrap_servers: str
    directory: str
    """For what Spark itself wants to keep."""
    jars: tuple[str, ...] = ()
    parquet_codec: str = "snappy"
    """Of Spark's writer; the engine has its own."""
    inputs: str = ""
    """Where there is a directory of Parquet files for each topic, for who reads those instead."""


class Job(NamedTuple):
    """From this topic to this directory, which does not exist yet."""

    topic: str
    target: str
    records: int = 0
    partitions: int = 0
    value_bytes: int = 0
    """What the topic holds, for who makes such records up instead of reading them."""
