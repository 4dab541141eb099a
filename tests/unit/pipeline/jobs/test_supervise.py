"""Supervision with real processes that need no Spark: restarts, stops, and no orphans."""

from __future__ import annotations

import os
import signal
import threading
from typing import TYPE_CHECKING

from headrace.pipeline.jobs.backoff import STEADY_SECONDS, Backoff
from headrace.pipeline.jobs.limited_log import last_lines
from headrace.pipeline.jobs.process_identity import maybe_identity
from headrace.pipeline.jobs.status import JobState, JobStatus
from headrace.pipeline.jobs.supervise import Supervisor

from .samples import prepared, until, worker

if TYPE_CHECKING:
    from pathlib import Path

QUICK = Backoff(first_seconds=0.01, seconds_max=0.02)
WAIT_SECONDS = 30


def test_backoff_doubles_up_to_its_limit_and_forgets() -> None:
    backoff = Backoff(first_seconds=1, seconds_max=5)
    assert [backoff.after_run_of(0) for _ in range(4)] == [1, 2, 4, 5]
    assert backoff.after_run_of(STEADY_SECONDS) == 1


def test_job_that_ends_by_itself_is_done(tmp_path: Path) -> None:
    job = prepared(tmp_path)
    body = (
        "report(progress={'rows': 5, 'files': 1, 'lag_records': 2,"
        "'positions': {'orders': {'0': 5}}})\nprint('hello')"
    )
    status = Supervisor(job, command=worker(body)).run()
    assert (status.state, status.rows, status.files, status.lag_records) == (JobState.DONE, 5, 1, 2)
    assert job.maybe_status(0) == status
    assert last_lines(job.log_path, 5) == ["hello"]
    assert job.maybe_process() is None


def test_report_that_makes_no_sense_is_logged(tmp_path: Path) -> None:
    job = prepared(tmp_path)
    body = "reports.write('nonsense' + chr(10)); report(progress={'rows': 1}); report(other=1)"
    status = Supervisor(job, command=worker(body)).run()
    assert (status.state, status.rows) == (JobState.DONE, 1)
    assert last_lines(job.log_path, 5)[0].endswith("makes no sense: nonsense")


def test_job_is_started_again_after_a_fault(tmp_path: Path) -> None:
    job = prepared(tmp_path)
    mark = tmp_path / "mark"
    body = (
        f"mark = {str(mark)!r}\n"
        "n = len(open(mark).read()) if os.path.exists(mark) else 0\n"
        "open(mark, 'a').write('x')\n"
        "if n == 0: report(fault='broker gone', can_retry=True); sys.exit(1)\n"
        "if n == 1: os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    seen: list[JobStatus] = []
    status = Supervisor(job, command=worker(body), on_status=seen.append, backoff=QUICK).run()
    assert (status.state, status.restarts) == (JobState.DONE, 2)
    assert status.last_error == "its process was ended by SIGKILL"
    assert [each.last_error for each in seen if each.restarts == 1] == ["broker gone"]


def test_fault_that_no_retry_can_heal_ends_the_job(tmp_path: Path) -> None:
    body = "report(fault='schema conflict', can_retry=False); sys.exit(1)"
    status = Supervisor(prepared(tmp_path), command=worker(body)).run()
    assert (status.state, status.last_error) == (JobState.FAILED, "schema conflict")


def test_stop_lets_the_worker_end_its_batch(tmp_path: Path) -> None:
    body = (
        "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})\n"
        "report(progress={'rows': 1})\n"
        "signal.sigwait({signal.SIGTERM})\n"
        "report(progress={'rows': 1})\n"
    )
    supervisors: list[Supervisor] = []

    def stop_after_first_batch(status: JobStatus) -> None:
        if status.rows == 1:
            supervisors[0].stop()

    job = prepared(tmp_path)
    supervisors.append(Supervisor(job, command=worker(body), on_status=stop_after_first_batch))
    status = supervisors[0].run()
    assert (status.state, status.rows, status.last_error) == (JobState.STOPPED, 2, None)


def test_what_the_worker_started_does_not_outlive_it(tmp_path: Path) -> None:
    """A grandchild that ignores SIGTERM, as a Java that hangs would."""
    body = (
        "import subprocess\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import signal, sys;"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.pause()'])\n"
        "print(child.pid, flush=True)\n"
        "report(fault='fault', can_retry=False); sys.exit(1)\n"
    )
    job = prepared(tmp_path)
    Supervisor(job, command=worker(body)).run()
    grandchild = int(last_lines(job.log_path, 1)[0])
    until(lambda: maybe_identity(grandchild) is None)


def test_stop_while_waiting_for_the_next_try(tmp_path: Path) -> None:
    body = "report(fault='gone', can_retry=True); sys.exit(1)"
    waiting = threading.Event()

    def on_status(status: JobStatus) -> None:
        if status.state is JobState.RESTARTING:
            waiting.set()

    slow = Backoff(first_seconds=3_600, seconds_max=3_600)
    supervisor = Supervisor(
        prepared(tmp_path), command=worker(body), on_status=on_status, backoff=slow
    )
    thread = threading.Thread(target=supervisor.run)
    thread.start()
    assert waiting.wait(WAIT_SECONDS)
    supervisor.stop()
    thread.join(WAIT_SECONDS)
    assert not thread.is_alive()


def test_worker_ends_when_its_supervisor_is_killed(tmp_path: Path) -> None:
    """The lifeline: kill -9 of the supervisor, and the worker sees the end of its input."""
    read_end, write_end = os.pipe()
    supervisor = os.fork()
    if supervisor == 0:
        os.close(read_end)
        body = "sys.stdin.read()"
        # The worker inherits nothing of ours but the end of this pipe, through its environment.
        os.set_inheritable(write_end, True)
        command = worker(f"os.write({write_end}, str(os.getpid()).encode()); {body}")
        import subprocess

        subprocess.Popen([*command, "--reports", "1"], stdin=subprocess.PIPE, close_fds=False)
        signal.pause()
        os._exit(0)
    os.close(write_end)
    pid = int(os.read(read_end, 20))
    assert maybe_identity(pid) is not None
    os.kill(supervisor, signal.SIGKILL)
    os.waitpid(supervisor, 0)
    assert os.read(read_end, 1) == b""  # the worker held the other end, and is gone
    os.close(read_end)
