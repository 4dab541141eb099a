"""Start in the background, stop by name."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from headrace.pipeline.jobs.control import start_detached, stop_job
from headrace.pipeline.jobs.errors import JobFailed, JobNotRunning
from headrace.pipeline.jobs.process_identity import maybe_identity, own_identity

from .samples import prepared, until

if TYPE_CHECKING:
    from pathlib import Path

SLEEPER = "import signal; {before}; print('ready', flush=True); signal.pause()"
IGNORING = "signal.signal(signal.SIGTERM, signal.SIG_IGN)"


def sleeper(before: str = "pass") -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", SLEEPER.format(before=before)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    return process


def test_job_that_does_not_run_cannot_be_stopped(tmp_path: Path) -> None:
    with pytest.raises(JobNotRunning, match="job orders does not run"):
        stop_job(prepared(tmp_path))


@pytest.mark.parametrize(("before", "is_clean"), [("pass", True), (IGNORING, False)])
def test_stop_asks_first_and_kills_then(tmp_path: Path, before: str, is_clean: bool) -> None:
    job = prepared(tmp_path)
    process = sleeper(before)
    identity = maybe_identity(process.pid)
    assert identity is not None
    with job.running(identity):
        assert stop_job(job, timeout_seconds=30 if is_clean else 0.2) is is_clean
    process.wait()


def test_detached_job_that_ends_at_once_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = prepared(tmp_path)
    job.definition_path.write_text("[job]\n")
    with pytest.raises(JobFailed, match=r"did not start: headrace: .*job\.name: is missing"):
        start_detached(job, None)


def test_detached_job_runs_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker cannot run: its variable is not set. The supervisor says so, and ends."""
    monkeypatch.delenv("SECRET", raising=False)
    job = prepared(tmp_path)
    pid = start_detached(job, None)
    assert pid > 0
    until(lambda: job.maybe_process() is None)
    status = job.maybe_status(0)
    assert status is not None
    assert status.state.value == "failed"
    assert "the environment variable SECRET is not set" in (status.last_error or "")


def test_job_of_another_user_is_left_to_him(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kill(pid: int, number: int) -> None:
        raise PermissionError

    job = prepared(tmp_path)
    with job.running(own_identity()):
        monkeypatch.setattr(os, "kill", kill)
        with pytest.raises(JobFailed, match="of another user"):
            stop_job(job)
