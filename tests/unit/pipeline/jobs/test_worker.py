"""The worker and the entry of ``spark-submit``: environment, session, end. Without Spark."""

from __future__ import annotations

import io
import json
import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from headrace.pipeline.errors import SchemaConflict
from headrace.pipeline.jobs import job_logging, submit_entry, worker
from headrace.pipeline.jobs import run as run_module
from headrace.pipeline.jobs.progress import JobProgress
from headrace.pipeline.jobs.worker import EXIT_FAILED, EXIT_OK, Reports, work

from .samples import PARQUET, prepared

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.pipeline.jobs.run import JobContext


class Session:
    """Counts how often it is stopped."""

    def __init__(self) -> None:
        self.stops = 0
        self.sent: list[Any] = []

    def stop(self) -> None:
        self.stops += 1


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Session:
    made = Session()
    for module in (worker, run_module):
        monkeypatch.setattr(module, "session_for", lambda definition, master=None: made)
    monkeypatch.setattr(worker, "send_code", lambda *sent: made.sent.append(sent[1:]))
    monkeypatch.setenv("SECRET", "s3cret")
    return made


def reports_of(file: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.getvalue().splitlines()]


def test_worker_runs_the_job_with_its_secrets(
    tmp_path: Path, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[JobContext] = []

    def run(context: JobContext) -> None:
        seen.append(context)
        context.on_progress(JobProgress(rows=5))

    monkeypatch.setattr(worker, "run_job", run)
    job, file, stop = prepared(tmp_path), io.StringIO(), threading.Event()
    assert work(job, None, Reports(file), stop) == EXIT_OK
    assert seen[0].definition.source.options["kafka.sasl.password"] == "s3cret"
    assert seen[0].checkpoint == str(job.checkpoint_path)
    assert not seen[0].should_stop()
    stop.set()
    assert seen[0].should_stop()
    assert [each["progress"]["rows"] for each in reports_of(file)] == [0, 5]
    assert session.stops == 1
    assert session.sent == [((), job.path)]
    assert "s3cret" not in job.definition_path.read_text()


def test_worker_reports_its_fault(
    tmp_path: Path, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(context: JobContext) -> None:
        raise SchemaConflict("two types")

    monkeypatch.setattr(worker, "run_job", run)
    file = io.StringIO()
    assert work(prepared(tmp_path), None, Reports(file), threading.Event()) == EXIT_FAILED
    assert reports_of(file)[1:] == [{"fault": "two types", "can_retry": False}]
    assert session.stops == 1


def test_worker_whose_supervisor_is_gone_only_says_so(caplog: pytest.LogCaptureFixture) -> None:
    def write(text: str) -> None:
        raise BrokenPipeError

    pipe: Any = SimpleNamespace(write=write, flush=lambda: None)
    Reports(pipe).progress(JobProgress())
    assert "the supervisor is gone" in caplog.text


def test_submitted_job_runs_with_its_own_checkpoint(
    tmp_path: Path,
    session: Session,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    seen: list[str] = []
    monkeypatch.setattr(job_logging, "configure_job_logging", lambda: None)
    monkeypatch.setattr(submit_entry, "signal", SimpleNamespace(SIGTERM=0, signal=lambda *_: 0))
    monkeypatch.setattr(run_module, "run_job", lambda context: seen.append(context.checkpoint))
    path = tmp_path / "orders.toml"
    path.write_text(PARQUET)
    assert submit_entry.main([str(path)]) == EXIT_FAILED
    assert "a submitted job needs one" in caplog.text
    path.write_text(PARQUET.replace('"orders"', '"orders"\ncheckpoint = "/shared"', 1))
    assert submit_entry.main([str(path)]) == 0
    assert seen == ["/shared"]
    assert session.stops == 1
