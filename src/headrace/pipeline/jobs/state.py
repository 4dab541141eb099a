"""The state directory: one directory per job, readable by whoever asks for the job's status.

jobs/<name>/definition.toml     what runs; secrets are ${NAME}
jobs/<name>/process.json        who runs it: pid, start time, boot
jobs/<name>/status.json         how it does, replaced in one step
jobs/<name>/log, log.1          what it said
jobs/<name>/checkpoint          positions, unless the definition says where else
jobs/<name>/lock                held by the one that runs it, for as long as it lives
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.model.errors import StorageFailure
from headrace.pipeline.jobs.definition import JobDefinition, definition_text, load_definition
from headrace.pipeline.jobs.definition_check import JOB_NAME
from headrace.pipeline.jobs.errors import InvalidDefinition, JobNotFound, JobRunning
from headrace.pipeline.jobs.process_identity import ProcessIdentity
from headrace.pipeline.jobs.status import (
    ENDED,
    JobState,
    JobStatus,
    status_from_json,
    with_error,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

STATE_VARIABLE = "HEADRACE_STATE"
_JOBS = "jobs"
_PRIVATE = 0o700


def default_root(environment: Mapping[str, str] | None = None) -> Path:
    """``HEADRACE_STATE``, else where programs of this user keep their state."""
    variables = os.environ if environment is None else environment
    if variables.get(STATE_VARIABLE):
        return Path(variables[STATE_VARIABLE])
    base = variables.get("XDG_STATE_HOME")
    return (Path(base) if base else Path.home() / ".local" / "state") / "headrace"


class StateDirectory:
    """All jobs of one user or one installation."""

    def __init__(self, root: Path | None = None) -> None:
        self.root = root or default_root()

    def job(self, name: str) -> JobDirectory:
        """The directory of a job, whether it exists or not."""
        if not JOB_NAME.fullmatch(name):
            raise InvalidDefinition(f"{name!r} is no name of a job")
        return JobDirectory(self.root / _JOBS / name)

    def existing_job(self, name: str) -> JobDirectory:
        job = self.job(name)
        if not job.definition_path.exists():
            raise JobNotFound(f"there is no job {name}; see: headrace pipeline list")
        return job

    def jobs(self) -> list[JobDirectory]:
        """By name."""
        folder = self.root / _JOBS
        if not folder.is_dir():
            return []
        found = [JobDirectory(path) for path in sorted(folder.iterdir()) if path.is_dir()]
        return [job for job in found if job.definition_path.exists()]


class JobDirectory:
    """One job's files."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.definition_path = path / "definition.toml"
        self.log_path = path / "log"
        self.checkpoint_path = path / "checkpoint"
        self._process_path = path / "process.json"
        self._status_path = path / "status.json"

    @property
    def name(self) -> str:
        return self.path.name

    def prepare(self, definition: JobDefinition) -> None:
        """Make the directory, and put the definition there; JobRunning if the job runs.

        What runs is what was started: its definition does not change under its feet.
        """
        try:
            with self._locked():
                replace_file(self.definition_path, definition_text(definition).encode())
        except OSError as error:
            raise StorageFailure(
                f"cannot write to the state directory {self.path}: {error.strerror}; choose "
                f"another with --state or {STATE_VARIABLE}"
            ) from error

    def definition(self) -> JobDefinition:
        return load_definition(self.definition_path)

    @contextmanager
    def running(self, identity: ProcessIdentity) -> Iterator[None]:
        """While this holds, the job is this process's; JobRunning if it is another's."""
        with self._locked():
            replace_file(self._process_path, json.dumps(identity._asdict()).encode())
            try:
                yield
            finally:
                self._process_path.unlink(missing_ok=True)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """While this holds, nobody else runs, changes or removes the job."""
        self.path.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
        # flock, not a record lock: it excludes two jobs in one process as well.
        descriptor = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            self._lock(descriptor)
            yield
        finally:
            os.close(descriptor)

    def _lock(self, descriptor: int) -> None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise JobRunning(
                f"job {self.name} runs already; stop it with: headrace pipeline stop {self.name}"
            ) from None

    def maybe_process(self) -> ProcessIdentity | None:
        """The process that runs the job; None if none does."""
        try:
            values = json.loads(self._process_path.read_bytes())
            identity = ProcessIdentity(values["pid"], values["started"], values["boot"])
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return None
        return identity if identity.is_alive() else None

    def write_status(self, status: JobStatus) -> None:
        replace_file(self._status_path, status.dumps())

    def maybe_status(self, now_ms: int) -> JobStatus | None:
        """As last written; a job whose process is gone without a word has failed."""
        try:
            status = status_from_json(self._status_path.read_bytes())
        except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError):
            return None
        if status.state in ENDED or self.maybe_process() is not None:
            return status
        return with_error(status, JobState.FAILED, "its process is gone", now_ms)

    def remove(self) -> None:
        """The whole directory, positions included; JobRunning if somebody runs it."""
        with self._locked():
            shutil.rmtree(self.path)


def replace_file(path: Path, data: bytes) -> None:
    """Readers see the old content or the new, never a part."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_bytes(data)
    os.replace(temporary, path)
