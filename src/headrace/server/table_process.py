"""One child process beside the broker: started again after a fault, ended with the broker.

The child's standard input is a pipe that only we can write to: it is told there what to do, and if
this process dies in whatever way, the pipe ends and so does the child.
"""

from __future__ import annotations

import asyncio
import logging
import subprocess
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.environment.ports import Background, Cancellable

log = logging.getLogger(__name__)

POLL_SECONDS = 1.0
BACKOFF_FIRST_SECONDS = 1.0
BACKOFF_SECONDS_MAX = 60.0
STEADY_SECONDS = 60.0
STOP_SECONDS_MAX = 45.0
"""Longer than the child gives its jobs."""
STOP_POLL_SECONDS = 0.02
EXIT_MISSING_DEPENDENCY = 6


class TableProcess:
    """At most one child at a time. All methods run on the loop's thread."""

    def __init__(self, command: Callable[[], Sequence[str]], background: Background) -> None:
        self._command = command
        self._background = background
        self._process: subprocess.Popen[bytes] | None = None
        self._timer: Cancellable | None = None
        """Of the next look at the child, or, if there is none, of its next start."""
        self._wait_seconds = BACKOFF_FIRST_SECONDS
        self._began = 0.0
        self._ending_since: float | None = None
        self._told = b""
        self._is_writing = False
        self._is_wanted = False
        self.restarts = 0

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def tell(self, line: bytes) -> None:
        """Start the child if there is none, and give it ``line``, which says all it must know."""
        self._is_wanted = True
        self._told = line
        if self._process is None and self._timer is None:
            self._start()
        elif self._process is not None and self._ending_since is None:
            self._write()

    def rest(self) -> None:
        """There is nothing to do: let the child end."""
        self._is_wanted = False
        if self._process is not None and self._ending_since is None:
            self._process.terminate()
            self._ending_since = monotonic()
        elif self._process is None:
            self._cancel_timer()

    def _start(self) -> None:
        self._timer = None
        self._began = monotonic()
        self._ending_since = None
        try:
            self._process = subprocess.Popen(
                self._command(), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
            )
        except OSError as error:
            self._start_later(f"cannot be started: {error}")
            return
        log.info("table topics are kept by process %d", self._process.pid)
        self._write()
        self._timer = self._background.call_later(POLL_SECONDS, self._look)

    def _start_later(self, what: str) -> None:
        wait = self._wait_seconds
        log.error("the process of the table topics %s; again in %.0f s", what, wait)
        self.restarts += 1
        self._wait_seconds = min(wait * 2, BACKOFF_SECONDS_MAX)
        self._timer = self._background.call_later(wait, self._start)

    def _write(self) -> None:
        """In a thread, since a child that is slow to read must not hold the broker up."""
        process = self._process
        if self._is_writing or process is None or process.stdin is None:
            return
        self._is_writing = True
        line, pipe = self._told, process.stdin

        def work() -> None:
            with suppress(BrokenPipeError):  # the child is gone: the next look sees it
                pipe.write(line)
                pipe.flush()

        def done(error: BaseException | None) -> None:
            self._is_writing = False
            if error is not None:
                log.error("the process of the table topics cannot be told: %s", error)
            is_same = process is self._process
            if not is_same:
                _close(process)
            # A later line, or another child, which could not be told while this was under way.
            if (not is_same or self._told is not line) and self._ending_since is None:
                self._write()

        self._background.submit(work, done)

    def _look(self) -> None:
        """Whether the child still runs, and whether it should."""
        self._timer = None
        process = self._process
        if process is None:
            return
        status = process.poll()
        if status is None:
            if self._ending_since is not None and _is_over(self._ending_since):
                process.kill()
            self._timer = self._background.call_later(POLL_SECONDS, self._look)
            return
        was_asked_to_end = self._ending_since is not None
        self._forget(process)
        if was_asked_to_end:
            if self._is_wanted:
                self._start()
        elif status == EXIT_MISSING_DEPENDENCY:
            log.warning("table topics stay as they are until a package is installed (see above)")
        else:
            if monotonic() - self._began >= STEADY_SECONDS:
                self._wait_seconds = BACKOFF_FIRST_SECONDS
            self._start_later(f"ended with status {status}")

    async def stop(self) -> None:
        """Ask the child to end and wait for it; kill it if it does not."""
        self._is_wanted = False
        self._cancel_timer()
        process = self._process
        if process is None:
            return
        process.terminate()
        asked = monotonic()
        while process.poll() is None:
            if _is_over(asked):
                log.error("the process of the table topics does not stop and is killed")
                process.kill()
            await asyncio.sleep(STOP_POLL_SECONDS)
        self._forget(process)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _forget(self, process: subprocess.Popen[bytes]) -> None:
        self._process = None
        self._ending_since = None
        if not self._is_writing:
            _close(process)


def _is_over(since: float) -> bool:
    return monotonic() - since > STOP_SECONDS_MAX


def _close(process: subprocess.Popen[bytes]) -> None:
    if process.stdin is not None:
        with suppress(BrokenPipeError):
            process.stdin.close()
