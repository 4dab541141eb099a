"""One life of a driver script, in a session of its own, and ways to hurt it.

Spark's Python workers leave the driver's process group: they outlive a killed driver for a moment,
and go on with what they were doing. That is wanted here: it is what happens outside of tests too.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

RUN_SECONDS_MAX = 300.0
WORKER_MARK = b"pyspark.daemon"
PROCESSES = Path("/proc")


class DriverRun:
    """Leaving the block kills what is left of it."""

    def __init__(self, script: Path, arguments: Sequence[str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(script), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        self._watchdog = threading.Timer(RUN_SECONDS_MAX, self.kill_driver)
        self._watchdog.start()

    def __enter__(self) -> DriverRun:
        return self

    def __exit__(self, *_: object) -> None:
        self._watchdog.cancel()
        self.kill_driver()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def next_line(self) -> str:
        """What the driver prints next; nothing when it has ended."""
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def finish(self) -> int:
        """Wait for the end; the exit status."""
        while self.next_line():
            continue
        return self._process.wait()

    def kill_driver(self) -> bool:
        """kill -9 of the driver and of Java; False if they had ended already."""
        if self._process.poll() is not None:
            return False
        os.killpg(self._process.pid, signal.SIGKILL)
        return True

    def kill_worker(self, which: int) -> bool:
        """kill -9 of one of the Python workers; False if there was none."""
        workers = [each.pid for each in self._workers()]
        if not workers:
            return False
        try:
            os.kill(workers[which % len(workers)], signal.SIGKILL)
        except ProcessLookupError:
            return False
        return True

    def _workers(self) -> Iterator[_Process]:
        """Children of the daemons that Spark starts; the daemons themselves are not among them."""
        found = {each.pid: each for each in _processes() if each.session == self._process.pid}
        return (each for each in found.values() if each.parent in found)


class _Process(NamedTuple):
    pid: int
    parent: int
    session: int


def _processes() -> Iterator[_Process]:
    """All that are Spark's Python, daemons and workers alike."""
    for folder in PROCESSES.iterdir():
        if not folder.name.isdecimal():
            continue
        try:
            if WORKER_MARK in (folder / "cmdline").read_bytes():
                # State, parent, group and session follow the name, which may hold anything.
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                yield _Process(int(folder.name), int(fields[1]), int(fields[3]))
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended while we looked
