"""One attempt at a job: a worker process from its start to its end, and what it reported.

Whatever happens, when ``run`` returns the worker and all that it started are gone.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import threading
from contextlib import suppress
from time import monotonic, sleep
from typing import IO, TYPE_CHECKING, Any

from headrace.pipeline.jobs.fault import Fault
from headrace.pipeline.jobs.limited_log import LINE_BYTES_MAX
from headrace.pipeline.jobs.progress import JobProgress

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.pipeline.jobs.limited_log import LimitedLog

POLL_SECONDS = 0.2
STOP_SECONDS_MAX = 30.0
"""From SIGTERM to SIGKILL."""
PUMP_SECONDS_MAX = 5.0
READ_BYTES = 64 * 2**10
REPORT_BYTES_MAX = 2**20


class Attempt:
    """Runs ``command`` with ``--reports FD`` appended."""

    def __init__(
        self,
        command: Sequence[str],
        log: LimitedLog,
        stop: threading.Event,
        on_progress: Callable[[JobProgress], None],
        *,
        stop_seconds_max: float = STOP_SECONDS_MAX,
    ) -> None:
        self._command = command
        self._log = log
        self._stop = stop
        self._on_progress = on_progress
        self._stop_seconds_max = stop_seconds_max
        self._fault: Fault | None = None
        self._unfinished = b""

    def run(self) -> Fault | None:
        """None: the job has come to its end, or was stopped."""
        reading, writing = os.pipe()
        try:
            process = subprocess.Popen(
                [*self._command, "--reports", str(writing)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=(writing,),
                # Ctrl-C is for the supervisor; and all that the worker starts is in its group.
                start_new_session=True,
            )
        except BaseException:
            os.close(reading)
            raise
        finally:
            os.close(writing)
        assert process.stdout is not None
        pump = threading.Thread(target=self._pump, args=(process.stdout,), daemon=True)
        pump.start()
        try:
            self._attend(process, reading)
        finally:
            _end_group(process)
            os.close(reading)
            pump.join(PUMP_SECONDS_MAX)
            _close(process)
        return self._outcome(process.returncode)

    def _attend(self, process: subprocess.Popen[bytes], reading: int) -> None:
        """Read reports until the worker is gone; pass a wish to stop on to it."""
        deadline: float | None = None
        with selectors.DefaultSelector() as selector:
            selector.register(reading, selectors.EVENT_READ)
            open_ = True
            while open_ or process.poll() is None:
                if open_ and selector.select(POLL_SECONDS):
                    open_ = self._read(reading)
                    if not open_:
                        selector.unregister(reading)
                elif not open_:
                    sleep(POLL_SECONDS)
                if self._stop.is_set() and deadline is None:
                    process.terminate()
                    deadline = monotonic() + self._stop_seconds_max
                if deadline is not None and monotonic() > deadline:
                    return

    def _read(self, reading: int) -> bool:
        data = os.read(reading, READ_BYTES)
        *lines, self._unfinished = (self._unfinished + data).split(b"\n")
        for line in lines:
            try:
                self._take(json.loads(line))
            except (ValueError, KeyError, TypeError):
                self._log.write_line(b"headrace: a report that makes no sense: " + line)
        if len(self._unfinished) > REPORT_BYTES_MAX:
            self._unfinished = b""
        return bool(data)

    def _take(self, report: dict[str, Any]) -> None:
        if "progress" in report:
            self._on_progress(JobProgress(**report["progress"]))
        else:
            self._fault = Fault(report["fault"], report["can_retry"])

    def _pump(self, output: IO[bytes]) -> None:
        with suppress(ValueError):  # closed under our hands, at the very end
            while line := output.readline(LINE_BYTES_MAX):
                self._log.write_line(line)

    def _outcome(self, status: int) -> Fault | None:
        if status == 0 or self._stop.is_set():
            return None
        if self._fault is not None:
            return self._fault
        if status < 0:
            return Fault(f"its process was ended by {signal.Signals(-status).name}", True)
        return Fault(f"its process ended with status {status}; its log says more", True)


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """The worker is the leader of its group: Java and whatever else it started are in it."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _close(process: subprocess.Popen[bytes]) -> None:
    for file in (process.stdin, process.stdout):
        if file is not None:
            with suppress(BrokenPipeError):
                file.close()
