"""Start a job that outlives the terminal, and stop one by its name."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from headrace.pipeline.jobs.errors import JobFailed, JobNotRunning
from headrace.pipeline.jobs.limited_log import last_lines

if TYPE_CHECKING:
    from headrace.pipeline.jobs.process_identity import ProcessIdentity
    from headrace.pipeline.jobs.state import JobDirectory

START_SECONDS_MAX = 30.0
STOP_SECONDS_MAX = 60.0
"""Longer than a supervisor gives its worker."""
KILL_SECONDS_MAX = 10.0
POLL_SECONDS = 0.05


def start_detached(job: JobDirectory, master: str | None) -> int:
    """The pid of the supervisor, once it holds the job; JobFailed if it ended instead."""
    command = [sys.executable, "-m", "headrace.pipeline.jobs.supervise", str(job.path)]
    with job.log_path.open("ab") as log:
        process = subprocess.Popen(
            [*command, "--master", master] if master else command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    deadline = time.monotonic() + START_SECONDS_MAX
    while time.monotonic() < deadline:
        identity = job.maybe_process()
        if identity is not None and identity.pid == process.pid:
            # It goes on without us: whoever starts it must not be the one to bury it.
            process.returncode = 0
            return process.pid
        if process.poll() is not None:
            said = last_lines(job.log_path, 1)
            raise JobFailed(f"job {job.name} did not start: {said[0] if said else 'no word'}")
        time.sleep(POLL_SECONDS)
    process.kill()
    process.wait()
    raise JobFailed(f"job {job.name} did not start within {START_SECONDS_MAX:.0f} s")


def stop_job(job: JobDirectory, timeout_seconds: float = STOP_SECONDS_MAX) -> bool:
    """Ask for a clean end and wait for it; False if it had to be killed."""
    identity = job.maybe_process()
    if identity is None:
        raise JobNotRunning(f"job {job.name} does not run")
    _signal(job, identity, signal.SIGTERM)
    if _is_gone_within(timeout_seconds, identity):
        return True
    _signal(job, identity, signal.SIGKILL)
    _is_gone_within(KILL_SECONDS_MAX, identity)
    return False


def _signal(job: JobDirectory, identity: ProcessIdentity, number: signal.Signals) -> None:
    try:
        os.kill(identity.pid, number)
    except ProcessLookupError:
        return
    except PermissionError as error:
        raise JobFailed(
            f"job {job.name} runs as process {identity.pid} of another user, who alone can stop it"
        ) from error


def _is_gone_within(seconds: float, identity: ProcessIdentity) -> bool:
    deadline = time.monotonic() + seconds
    while identity.is_alive():
        if time.monotonic() >= deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True
