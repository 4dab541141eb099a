"""Keeps a job running: a worker process, started again after a fault, with longer and longer waits.

The supervisor holds the job's lock and is the one writer of its status. It needs neither Spark nor
Java, so that a fault there cannot take it along. As a program, ``python -m
headrace.pipeline.jobs.supervise DIRECTORY``, it is what a detached job runs in.
"""

from __future__ import annotations

import argparse
import signal
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.model.errors import HeadraceError
from headrace.pipeline.jobs.attempt import Attempt
from headrace.pipeline.jobs.backoff import Backoff
from headrace.pipeline.jobs.limited_log import LimitedLog
from headrace.pipeline.jobs.process_identity import own_identity
from headrace.pipeline.jobs.state import JobDirectory
from headrace.pipeline.jobs.status import JobState, JobStatus, folded, with_error

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.pipeline.jobs.definition import JobDefinition
    from headrace.pipeline.jobs.fault import Fault
    from headrace.pipeline.jobs.progress import JobProgress

EXIT_OK = 0
EXIT_FAILED = 1


def first_status(definition: JobDefinition, now_ms: int) -> JobStatus:
    source = definition.source
    return JobStatus(
        job=definition.name,
        kind=definition.kind,
        source=source.pattern or ",".join(source.topics),
        target=f"{definition.sink.format} {definition.sink.target}",
        started_ms=now_ms,
        updated_ms=now_ms,
    )


def worker_command(job: JobDirectory, master: str | None) -> list[str]:
    command = [sys.executable, "-m", "headrace.pipeline.jobs.worker", str(job.path)]
    return [*command, "--master", master] if master else command


class Supervisor:
    """One job. ``run`` blocks; ``stop`` may be called from a signal handler or another thread."""

    def __init__(
        self,
        job: JobDirectory,
        *,
        command: Sequence[str],
        on_status: Callable[[JobStatus], None] = lambda status: None,
        backoff: Backoff | None = None,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self._job = job
        self._command = command
        self._on_status = on_status
        self._backoff = backoff or Backoff()
        self._now_ms = now_ms
        self._stop = threading.Event()
        self._status = first_status(job.definition(), now_ms())

    def stop(self) -> None:
        self._stop.set()

    def run(self) -> JobStatus:
        """Until the job is done, was stopped, or cannot go on; JobRunning if another runs it."""
        with self._job.running(own_identity()):
            log = LimitedLog(self._job.log_path)
            try:
                self._set(self._status)
                self._keep_running(log)
            finally:
                log.close()
        return self._status

    def _keep_running(self, log: LimitedLog) -> None:
        while not self._stop.is_set():
            began = time.monotonic()
            fault = Attempt(self._command, log, self._stop, self._progress).run()
            if fault is None:
                break
            if not fault.can_retry:
                self._set(with_error(self._status, JobState.FAILED, fault.message, self._now_ms()))
                return
            self._wait_before_retry(fault, time.monotonic() - began, log)
        state = JobState.STOPPED if self._stop.is_set() else JobState.DONE
        self._set(replace(self._status, state=state, rows_per_second=0.0))

    def _wait_before_retry(self, fault: Fault, ran_seconds: float, log: LimitedLog) -> None:
        wait = self._backoff.after_run_of(ran_seconds)
        log.write_line(f"headrace: {fault.message}; again in {wait:.0f} s".encode())
        failed = with_error(self._status, JobState.RESTARTING, fault.message, self._now_ms())
        self._set(replace(failed, restarts=failed.restarts + 1))
        self._stop.wait(wait)

    def _progress(self, progress: JobProgress) -> None:
        self._set(folded(self._status, progress, self._now_ms()))

    def _set(self, status: JobStatus) -> None:
        self._status = status
        try:
            self._job.write_status(status)
        except OSError as error:
            # A full disk: the job itself may go on, and the next status may be written again.
            print(f"headrace: the status cannot be written: {error}", file=sys.stderr)
        self._on_status(status)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="headrace.pipeline.jobs.supervise")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--master")
    given = parser.parse_args(arguments)
    job = JobDirectory(given.directory)
    try:
        supervisor = Supervisor(job, command=worker_command(job, given.master))
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: supervisor.stop())
        status = supervisor.run()
    except HeadraceError as error:
        print(f"headrace: {error.message}", file=sys.stderr)
        return EXIT_FAILED
    return EXIT_FAILED if status.state is JobState.FAILED else EXIT_OK


if __name__ == "__main__":
    sys.exit(main())
