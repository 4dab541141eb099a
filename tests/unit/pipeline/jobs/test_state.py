"""The state directory: one job runs once, and a recycled pid is not mistaken for it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from headrace.model.errors import StorageFailure
from headrace.pipeline.jobs.errors import InvalidDefinition, JobNotFound, JobRunning
from headrace.pipeline.jobs.process_identity import maybe_identity, own_identity
from headrace.pipeline.jobs.state import StateDirectory, default_root
from headrace.pipeline.jobs.status import JobState
from headrace.pipeline.jobs.supervise import first_status

from .samples import SQL, definition, prepared


def test_root_is_the_users_unless_it_is_given() -> None:
    assert default_root({"HEADRACE_STATE": "/x"}) == Path("/x")
    assert default_root({"XDG_STATE_HOME": "/s"}) == Path("/s/headrace")
    assert default_root({}) == Path.home() / ".local/state/headrace"


def test_job_is_found_by_its_name(tmp_path: Path) -> None:
    job = prepared(tmp_path)
    state = StateDirectory(tmp_path)
    assert [each.name for each in state.jobs()] == ["orders"]
    assert state.existing_job("orders").definition() == definition() == job.definition()
    with pytest.raises(JobNotFound, match="headrace pipeline list"):
        state.existing_job("other")
    with pytest.raises(InvalidDefinition):
        state.job("../orders")


def test_no_jobs_where_nothing_was_run(tmp_path: Path) -> None:
    assert StateDirectory(tmp_path / "nothing").jobs() == []


def test_job_runs_once(tmp_path: Path) -> None:
    job = prepared(tmp_path)
    with job.running(own_identity()):
        assert job.maybe_process() == own_identity()
        with (
            pytest.raises(JobRunning, match="headrace pipeline stop orders"),
            job.running(own_identity()),
        ):
            pytest.fail("two hold the job")
        with pytest.raises(JobRunning):
            job.remove()
    assert job.maybe_process() is None
    job.remove()
    assert not job.path.exists()


def test_recycled_pid_is_another_process(tmp_path: Path) -> None:
    job = prepared(tmp_path)
    with job.running(own_identity()._replace(started="1")):
        assert job.maybe_process() is None
    with job.running(own_identity()._replace(boot="another")):
        assert job.maybe_process() is None


def test_identity_of_nobody() -> None:
    assert maybe_identity(2**22 + 1) is None
    assert own_identity().pid == os.getpid()
    assert own_identity().is_alive()


def test_damaged_process_file_means_that_nobody_runs(tmp_path: Path) -> None:
    job = prepared(tmp_path)
    (job.path / "process.json").write_text("{")
    assert job.maybe_process() is None
    (job.path / "process.json").write_text(json.dumps([1]))
    assert job.maybe_process() is None


def test_status_of_a_job_whose_process_is_gone(tmp_path: Path) -> None:
    job = prepared(tmp_path)
    assert job.maybe_status(0) is None
    job.write_status(first_status(definition(), 5))
    found = job.maybe_status(9)
    assert found is not None
    assert (found.state, found.last_error) == (JobState.FAILED, "its process is gone")
    with job.running(own_identity()):
        found = job.maybe_status(9)
        assert found is not None
        assert found.state is JobState.STARTING
    for damaged in ("{}", "[]", "{"):
        (job.path / "status.json").write_text(damaged)
        assert job.maybe_status(9) is None


def test_directory_is_for_its_owner_alone(tmp_path: Path) -> None:
    assert prepared(tmp_path).path.stat().st_mode & 0o077 == 0


def test_definition_of_a_running_job_does_not_change(tmp_path: Path) -> None:
    job = prepared(tmp_path)
    before = job.definition_path.read_bytes()
    with job.running(own_identity()), pytest.raises(JobRunning):
        job.prepare(definition(SQL))
    assert job.definition_path.read_bytes() == before


def test_state_that_cannot_be_kept_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageFailure, match="choose another with --state or HEADRACE_STATE"):
        StateDirectory(tmp_path / "file").job("orders").prepare(definition())
