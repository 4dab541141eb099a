"""One life of a driver, in a session of its own, and ways to hurt it.

Spark's Python workers leave the driver's process group: they outlive a killed driver for a moment
and go on with what they were doing. That is wanted here: it is what happens elsewhere, too.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from soak.clients import ClientStuck

from .processes import processes_of
from .work import BATCH, STARTED

if TYPE_CHECKING:
    import random

    from .processes import Process
    from .work import DriverWork

ROOT = Path(__file__).parents[2]
BUSY_SHARE = 0.8
"""Of the workers that are killed: one that is at work at that moment."""
LOOK_SECONDS = 0.002
LOOK_SECONDS_MAX = 2.0
STOP_SECONDS_MAX = 120.0
LISTEN_SECONDS_MAX = 10.0
ERROR_CHARACTERS_MAX = 2_000


class DriverProcess:
    """Starts at once; ``kill`` and ``stop`` end it."""

    def __init__(self, work: DriverWork, log_path: Path) -> None:
        self.is_started = False
        self.batches = 0
        self.positions: dict[int, int] = {}
        self._log_path = log_path
        path = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        with log_path.open("ab") as log:
            self._process = subprocess.Popen(
                command(work),
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
                start_new_session=True,
            )
        self._listener = threading.Thread(target=self._listen, name="driver", daemon=True)
        self._listener.start()

    @property
    def status(self) -> int | None:
        """None while it runs."""
        return self._process.poll()

    def processes(self) -> list[Process]:
        """What is alive of it: also after its end, for a moment."""
        return processes_of(self._process.pid)

    def kill(self) -> bool:
        """kill -9 of the driver and of Java; False if they had ended already."""
        is_alive = self._process.poll() is None
        if is_alive:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._reap()
        return is_alive

    def kill_worker(self, chance: random.Random) -> bool:
        """kill -9 of one of Spark's Python processes, the daemon included; False if none was."""
        wants_busy = chance.random() < BUSY_SHARE
        deadline_s = time.monotonic() + (LOOK_SECONDS_MAX if wants_busy else 0.0)
        while True:
            workers = [each for each in self.processes() if each.is_python_of_spark]
            busy = [each for each in workers if each.is_at_work]
            if busy or time.monotonic() >= deadline_s:
                break
            time.sleep(LOOK_SECONDS)
        if not workers:
            return False
        try:
            os.kill(chance.choice(busy or workers).pid, signal.SIGKILL)
        except ProcessLookupError:
            return False
        return True

    def stop(self) -> int:
        """As a supervisor does it: SIGTERM, and the exit status is the answer."""
        self._process.terminate()
        try:
            status = self._process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self.kill()
            raise ClientStuck("the driver does not stop: " + self.last_words()) from None
        self._reap()
        return status

    def last_words(self) -> str:
        return self._log_path.read_text("utf-8", "replace")[-ERROR_CHARACTERS_MAX:]

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            event = maybe_event(line)
            if event.get("event") == STARTED:
                self.is_started = True
            elif event.get("event") == BATCH:
                self.positions = {int(key): end for key, end in event["positions"].items()}
                self.batches += 1

    def _reap(self) -> None:
        self._process.wait()
        self._listener.join(LISTEN_SECONDS_MAX)
        assert self._process.stdout is not None
        self._process.stdout.close()


def command(work: DriverWork) -> list[str]:
    return [sys.executable, "-m", "soak.pipeline.driver", work.to_json()]


def maybe_event(line: str) -> dict[str, Any]:
    """Empty for whatever else is printed, or was cut off by a kill."""
    try:
        value = json.loads(line)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
