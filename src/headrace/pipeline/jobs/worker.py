"""The process in which one job works: ``python -m headrace.pipeline.jobs.worker DIRECTORY``.

It belongs to a supervisor: standard input is the lifeline, ``--reports`` is a pipe for one JSON
line per batch and one about the fault, if there is one. All else that is printed is the job's log.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import signal
import sys
import threading
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from headrace.pipeline.jobs.fault import fault_of
from headrace.pipeline.jobs.job_logging import configure_job_logging
from headrace.pipeline.jobs.lifeline import watch_lifeline
from headrace.pipeline.jobs.progress import JobProgress
from headrace.pipeline.jobs.run import JobContext, run_job, session_for
from headrace.pipeline.jobs.shipping import send_code
from headrace.pipeline.jobs.state import JobDirectory

if TYPE_CHECKING:
    from collections.abc import Sequence

log = logging.getLogger(__name__)

EXIT_OK = 0
EXIT_FAILED = 1


class Reports:
    """Tells the supervisor. A supervisor that is gone is noticed by the lifeline, not here."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def progress(self, progress: JobProgress) -> None:
        self._write({"progress": progress._asdict()})

    def fault(self, message: str, can_retry: bool) -> None:
        self._write({"fault": message, "can_retry": can_retry})

    def _write(self, value: dict[str, Any]) -> None:
        try:
            self._file.write(json.dumps(value) + "\n")
            self._file.flush()
        except BrokenPipeError:
            log.warning("the supervisor is gone")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="headrace.pipeline.jobs.worker")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--reports", type=int, required=True)
    parser.add_argument("--master")
    given = parser.parse_args(arguments)
    configure_job_logging()
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    watch_lifeline(sys.stdin.fileno(), stop)
    os.set_inheritable(given.reports, False)  # Java must not keep the pipe open
    with os.fdopen(given.reports, "w") as file:
        return work(JobDirectory(given.directory), given.master, Reports(file), stop)


def work(job: JobDirectory, master: str | None, reports: Reports, stop: threading.Event) -> int:
    """The job from its session to its end; the exit status is the answer."""
    spark = None
    try:
        definition = job.definition().with_environment(os.environ)
        spark = session_for(definition, master)
        send_code(spark, definition.transform.files, job.path)
        reports.progress(JobProgress())  # it works now, though a quiet topic may give it no batch
        checkpoint = definition.checkpoint or str(job.checkpoint_path)
        run_job(JobContext(spark, definition, checkpoint, reports.progress, stop.is_set))
    except Exception as error:
        fault = fault_of(error)
        log.exception("the job ends: %s", fault.message)
        reports.fault(fault.message, fault.can_retry)
        return EXIT_FAILED
    finally:
        if spark is not None:
            spark.stop()
    return EXIT_OK


if __name__ == "__main__":
    sys.exit(main())
