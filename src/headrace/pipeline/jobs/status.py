"""What a job is doing, as one JSON document: state, rate, lag, files, faults.

The supervisor of the job is its one writer; whoever wants to know reads the file. ``folded`` is
pure: time is passed in.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields, replace
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace.pipeline.jobs.progress import JobProgress

RATE_WINDOW_SECONDS = 30.0
"""Older batches hardly count for the rate."""
ERROR_LENGTH_MAX = 2_000


class JobState(Enum):
    """Where a job is in its life."""

    STARTING = "starting"
    RUNNING = "running"
    RESTARTING = "restarting"
    STOPPED = "stopped"
    DONE = "done"
    FAILED = "failed"


ENDED = (JobState.STOPPED, JobState.DONE, JobState.FAILED)


@dataclass(frozen=True, kw_only=True)
class JobStatus:
    """One job at one moment. Counts are since the job was started, restarts included."""

    job: str
    kind: str
    source: str
    target: str
    state: JobState = JobState.STARTING
    started_ms: int = 0
    updated_ms: int = 0
    batches: int = 0
    rows: int = 0
    parked_rows: int = 0
    files: int = 0
    size_bytes: int = 0
    rows_per_second: float = 0.0
    lag_records: int | None = None
    """None: not known yet."""
    positions: dict[str, dict[str, int]] = field(default_factory=dict)
    restarts: int = 0
    last_error: str | None = None
    last_error_ms: int | None = None

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "state": self.state.value}

    def dumps(self) -> bytes:
        return json.dumps(self.to_json(), indent=1).encode()


def status_from_json(text: str | bytes) -> JobStatus:
    """Fields of a later version are left out."""
    values = json.loads(text)
    known = {each.name for each in fields(JobStatus)}
    kept = {name: value for name, value in values.items() if name in known}
    return JobStatus(**{**kept, "state": JobState(kept["state"])})


def folded(status: JobStatus, progress: JobProgress, now_ms: int) -> JobStatus:
    """The status after one more committed batch, or after a look that found nothing to do."""
    seconds = max(now_ms - status.updated_ms, 1) / 1_000
    return replace(
        status,
        state=JobState.RUNNING,
        updated_ms=now_ms,
        batches=status.batches + (1 if progress.rows or progress.parked_rows else 0),
        rows=status.rows + progress.rows,
        parked_rows=status.parked_rows + progress.parked_rows,
        files=status.files + progress.files,
        size_bytes=status.size_bytes + progress.size_bytes,
        rows_per_second=_rate(status.rows_per_second, progress.rows, seconds),
        lag_records=progress.lag_records,
        positions=progress.positions or status.positions,
    )


def with_error(status: JobStatus, state: JobState, message: str, now_ms: int) -> JobStatus:
    return replace(
        status,
        state=state,
        updated_ms=now_ms,
        rows_per_second=0.0,
        last_error=message[:ERROR_LENGTH_MAX],
        last_error_ms=now_ms,
    )


def _rate(before: float, rows: int, seconds: float) -> float:
    """A mean in which the last half minute counts most."""
    weight = min(1.0, seconds / RATE_WINDOW_SECONDS) if before else 1.0
    return round(before + weight * (rows / seconds - before), 1)
