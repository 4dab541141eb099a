"""`python -m soak long`: the run, its table, its JSON and its plot."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.table import Table

from . import plots, results
from .long import DISK_MEGABYTES_MAX, LongResult, LongRun
from .screen import progress_bar, show_report

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from headrace.testing.history import History

    from .samples import Sample


def run_long(minutes: float, directory: Path, results_directory: Path, console: Console) -> bool:
    with progress_bar(console) as progress:
        task = progress.add_task("long", total=round(60 * minutes), note="")

        def show(sample: Sample, history: History) -> None:
            wrong = sum(history.violations.counts.values())
            note = (
                f"{sample.produced_per_second:,.0f}/s, p99 {sample.produce_p99_ms:.0f} ms, "
                f"{sample.resident_megabytes:.0f} MB, {wrong} violations"
            )
            progress.update(task, completed=round(sample.at_seconds), note=note)

        result = LongRun(directory / "data", 60 * minutes, show).run()
    results.write(results_directory, "long", values(result))
    title = f"{minutes:g} minutes of steady load"
    plots.draw(result.samples, title, results_directory / "long.png")
    show_result(console, title, result)
    return result.is_clean


def values(result: LongResult) -> dict[str, Any]:
    assert result.report is not None
    return {
        "seconds": result.seconds,
        "is_clean": result.is_clean,
        "visits": result.visits,
        "connections": result.connections,
        "client_failures": result.failures,
        "disk_megabytes_max": round(result.disk_megabytes_max, 1),
        "disk_megabytes_allowed": DISK_MEGABYTES_MAX,
        **results.report_values(result.report),
        "drift": [asdict(verdict) for verdict in result.verdicts],
        "samples": [rounded(asdict(sample)) for sample in result.samples],
    }


def rounded(sample: dict[str, Any]) -> dict[str, Any]:
    return {name: round(value, 2) for name, value in sample.items()}


def show_result(console: Console, title: str, result: LongResult) -> None:
    assert result.report is not None
    facts: dict[str, object] = {
        "visits of clients with topics and groups of their own": result.visits,
        "connections made and left": result.connections,
        "disk at most (MB)": round(result.disk_megabytes_max),
    }
    show_report(console, title, facts, result.report)
    table = Table("", "second quarter", "last quarter", "trend", "allowed", "", title="drift")
    for verdict in result.verdicts:
        numbers = (verdict.earlier, verdict.later, verdict.trend, verdict.allowed)
        cells = [f"{number:,.2f}" for number in numbers]
        table.add_row(verdict.title, *cells, "DRIFT" if verdict.has_drifted else "steady")
    console.print(table)
    for failure in result.failures:
        console.print(f"failure: {failure}", highlight=False)
