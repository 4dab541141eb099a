"""Processes of one session, as the kernel lists them: a driver, its Java, and Spark's Python."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

PROCESSES = Path("/proc")
PYTHON_OF_SPARK = b"pyspark.daemon"
"""In the command line of the daemon, and of the workers that it forks."""
AT_WORK = ("R", "D")
ENDED = ("Z", "X")


class Process(NamedTuple):
    pid: int
    state: str
    is_python_of_spark: bool

    @property
    def is_at_work(self) -> bool:
        return self.state in AT_WORK


def processes_of(session: int) -> list[Process]:
    """All that are alive. Spark's Python leaves the driver's group, but not its session."""
    found = []
    for folder in PROCESSES.iterdir():
        if not folder.name.isdecimal():
            continue
        try:
            # State, parent, group and session follow the name, which may hold anything.
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) == session and fields[0] not in ENDED:
                is_python = PYTHON_OF_SPARK in (folder / "cmdline").read_bytes()
                found.append(Process(int(folder.name), fields[0], is_python))
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended while we looked
    return found
