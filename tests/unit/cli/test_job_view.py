"""Jobs on a screen."""

from __future__ import annotations

import io
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.cli.job_view import live_table, live_view, status_row
from headrace.pipeline.jobs.status import JobState, JobStatus

if TYPE_CHECKING:
    import pytest

STATUS = JobStatus(
    job="orders",
    kind="parquet",
    source="orders",
    target="delta /lake",
    state=JobState.RUNNING,
    rows=1_234_567,
    rows_per_second=99_999.5,
    lag_records=10,
    updated_ms=1_000,
)


def shown(*statuses: JobStatus) -> str:
    from rich.console import Console

    file = io.StringIO()
    Console(file=file, width=80).print(live_table(statuses))
    return file.getvalue()


def test_row_forgets_a_rate_that_is_old() -> None:
    assert status_row(STATUS, 2_000)["rows_per_second"] == 99_999.5
    assert status_row(STATUS, 100_000)["rows_per_second"] == 0.0
    assert status_row(STATUS, 2_000)["state"] == "running"


def test_live_table_has_rate_lag_and_files() -> None:
    text = shown(STATUS, replace(STATUS, job="new", lag_records=None, rows=0))
    assert "1,234,567" in text
    assert "100,000" in text
    assert "RUNNING" not in text
    assert [line.split()[0] for line in text.splitlines() if "running" in line] == ["orders", "new"]


def test_last_error_is_shown_as_text() -> None:
    assert "[red]gone[/red]" in shown(replace(STATUS, last_error="[red]gone[/red]"))


def test_nothing_is_shown_without_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with live_view(wanted=True) as show:
        show([STATUS])
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with live_view(wanted=True) as show:
        show([STATUS])
    assert "orders" in capsys.readouterr().err
