"""A Headrace broker as a process of its own, over a directory that outlives it.

`start` returns when the broker has printed where it listens; the same port is kept over restarts,
so that clients which are still open find the broker again.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

from .deadline import DeadlinePassed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

READY_PREFIX = "listening kafka://"
START_TIMEOUT_S = 20.0
STOP_TIMEOUT_S = 20.0
LOG_TAIL_CHARACTERS = 4_000


class BrokerProcess:
    """Start, stop, kill and restart one broker; use as a context manager to be sure of the end."""

    def __init__(
        self,
        directory: Path,
        options: Sequence[str] = (),
        *,
        start_timeout_s: float = START_TIMEOUT_S,
        stop_timeout_s: float = STOP_TIMEOUT_S,
    ) -> None:
        self.directory = directory
        self._start_timeout_s = start_timeout_s
        self._stop_timeout_s = stop_timeout_s
        self.log_path = directory.with_name(directory.name + ".stderr.log")
        self._options = tuple(options)
        self._process: subprocess.Popen[str] | None = None
        self._port = 0

    @property
    def bootstrap_servers(self) -> str:
        return f"127.0.0.1:{self._port}"

    @property
    def pid(self) -> int:
        return self._running().pid

    def start(self) -> None:
        self.spawn()
        self.wait_until_ready()

    def spawn(self) -> None:
        """Only begin to start: the broker may be killed before it is ready."""
        if self._process is not None:
            raise RuntimeError("the broker is running already")
        listener = f"kafka://127.0.0.1:{self._port}"
        command = [sys.executable, "-m", "headrace", "serve"]
        command += ["--data", str(self.directory), "--listen", listener, *self._options]
        with self.log_path.open("ab") as log:
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)

    def wait_until_ready(self) -> None:
        self._port = self._wait_for_port(self._running())

    def terminate(self) -> int:
        """Ask for a clean stop; the exit status is the answer."""
        process = self._running()
        process.send_signal(signal.SIGTERM)
        return self._reap(process)

    def kill(self) -> None:
        """kill -9: what a crash of the process looks like to everyone else."""
        process = self._running()
        process.kill()
        self._reap(process)

    def restart(self) -> None:
        """Start again over the same directory and port; stops cleanly first if it still runs."""
        if self._process is not None:
            self.terminate()
        self.start()

    def log_tail(self) -> str:
        return self.log_path.read_text("utf-8", "replace")[-LOG_TAIL_CHARACTERS:]

    def __enter__(self) -> BrokerProcess:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._process is not None:
            self.kill()

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None:
            raise RuntimeError("the broker is not running")
        return self._process

    def _reap(self, process: subprocess.Popen[str]) -> int:
        self._process = None
        try:
            return process.wait(self._stop_timeout_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise DeadlinePassed(f"the broker did not stop: {self.log_tail()}") from None
        finally:
            if process.stdout is not None:
                process.stdout.close()

    def _wait_for_port(self, process: subprocess.Popen[str]) -> int:
        # A timer that kills the process bounds the blocking read of its output.
        watchdog = threading.Timer(self._start_timeout_s, process.kill)
        watchdog.start()
        try:
            assert process.stdout is not None
            for line in process.stdout:
                if line.startswith(READY_PREFIX):
                    return int(line.strip().rsplit(":", 1)[1])
        finally:
            watchdog.cancel()
        process.kill()
        status = self._reap(process)
        raise DeadlinePassed(f"the broker ended with {status} before ready: {self.log_tail()}")
