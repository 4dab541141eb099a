"""The other end of `bench.lake.driver`: starts one, gives it jobs, ends it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from bench.lake.orders import ANSWER

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import IO

    from bench.lake.orders import DriverSettings, Job

ROOT = Path(__file__).parents[2]
START_SECONDS_MAX = 600.0
JOB_SECONDS_MAX = 1_800.0
STOP_SECONDS_MAX = 60.0
LAST_WORDS_SECONDS_MAX = 10.0
ERROR_CHARACTERS_MAX = 3_000


class DriverFailed(RuntimeError):
    """A driver ended without an answer; the message has the end of what it said."""


class DriverProcess:
    """A driver with its Java and its workers; leaving the block ends them all."""

    def __init__(
        self, settings: DriverSettings, program: Sequence[str] = ("-m", "bench.lake.driver")
    ) -> None:
        self._reader = settings.reader
        self._late = ""
        self._complaints: IO[str] = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, *program, json.dumps(asdict(settings))],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            text=True,
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def __enter__(self) -> Self:
        try:
            self._answer(START_SECONDS_MAX)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        self._end()

    def run(self, job: Job) -> float:
        """The seconds that the driver needed."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(job._asdict()) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise DriverFailed(self._complaint()) from None
        seconds: float = self._answer(JOB_SECONDS_MAX)["seconds"]
        return seconds

    def _answer(self, seconds_max: float) -> dict[str, Any]:
        assert self._process.stdout is not None
        watchdog = threading.Timer(seconds_max, self._give_up, [seconds_max])
        watchdog.start()
        try:
            for line in self._process.stdout:
                if line.startswith(ANSWER):
                    answer: dict[str, Any] = json.loads(line.removeprefix(ANSWER))
                    return answer
        finally:
            watchdog.cancel()
        raise DriverFailed(self._complaint())

    def _complaint(self) -> str:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(LAST_WORDS_SECONDS_MAX)
        self._kill()
        self._process.wait()
        self._complaints.seek(0)
        text = self._complaints.read()[-ERROR_CHARACTERS_MAX:]
        how = self._late or f"ended with {self._process.returncode}"
        return f"driver of {self._reader} {how}: {text}"

    def _give_up(self, seconds: float) -> None:
        self._late = f"gave no answer in {seconds:g} s"
        self._kill()

    def _end(self) -> None:
        """The end of its input is the end of a driver; one that does not end is killed."""
        assert self._process.stdout is not None
        with suppress(subprocess.TimeoutExpired):
            self._process.communicate(timeout=STOP_SECONDS_MAX)
        self._kill()
        self._process.wait()
        self._process.stdout.close()
        self._complaints.close()

    def _kill(self) -> None:
        """Java is in the same group, and may outlive the driver for a moment."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
