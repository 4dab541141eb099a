"""Run a load of `bench.clients` in a process of its own and take its answer."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from bench.clients import READY_LINE

ROOT = Path(__file__).parents[1]
CLIENT_SECONDS_MAX = 300.0
ERROR_CHARACTERS_MAX = 2_000


class ClientFailed(RuntimeError):
    """A client ended without an answer; the message has what it said."""


class ClientProcess:
    """One load under way; a context manager, so that none is left behind."""

    def __init__(self, load: str, arguments: dict[str, Any]) -> None:
        self.load = load
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.clients", load, json.dumps(arguments)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> ClientProcess:
        return self

    def __exit__(self, *exception: object) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()

    def wait_until_ready(self) -> None:
        """For loads that say so."""
        assert self._process.stdout is not None
        watchdog = threading.Timer(CLIENT_SECONDS_MAX, self._process.kill)
        watchdog.start()
        try:
            line = self._process.stdout.readline()
        finally:
            watchdog.cancel()
        if line.strip() != READY_LINE:
            raise ClientFailed(f"{self.load} did not get ready: {self._complaint()}")

    def result(self) -> dict[str, float]:
        try:
            output, errors = self._process.communicate(timeout=CLIENT_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise ClientFailed(f"{self.load} took over {CLIENT_SECONDS_MAX:g} s") from None
        if self._process.returncode:
            raise ClientFailed(f"{self.load} failed: {errors[-ERROR_CHARACTERS_MAX:]}")
        answer: dict[str, float] = json.loads(output.splitlines()[-1])
        return answer

    def _complaint(self) -> str:
        self._process.kill()
        assert self._process.stderr is not None
        return self._process.stderr.read()[-ERROR_CHARACTERS_MAX:]


def run_client(load: str, **arguments: Any) -> dict[str, float]:
    """Start a load and wait for its answer."""
    with ClientProcess(load, arguments) as client:
        return client.result()
