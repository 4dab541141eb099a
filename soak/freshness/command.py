"""`python -m soak freshness`: the run, its table, its JSON and its plot."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.table import Table

from soak import plots, results
from soak.pipeline.command import missing_packages
from soak.plots import Panel
from soak.screen import progress_bar

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from .result import FreshnessPlan, FreshnessResult, FreshnessSample

PANELS = (
    Panel(
        "Records per second", {"produced": "produced_per_second", "in table": "written_per_second"}
    ),
    Panel("Lag (records)", {"lag": "lag_records"}),
    Panel(
        "Sent to readable in the table (s)",
        {"p50": "freshness_p50_seconds", "p99": "freshness_p99_seconds"},
    ),
    Panel(
        "Produce: latency to the acknowledgement (ms)",
        {"p50": "produce_p50_ms", "p99": "produce_p99_ms"},
    ),
    Panel("CPU (% of a core)", {"broker": "broker_cpu_percent", "job": "job_cpu_percent"}),
    Panel("Resident memory (MB)", {"broker": "broker_megabytes", "job": "job_megabytes"}),
)


def run_freshness(
    plan: FreshnessPlan, directory: Path, results_directory: Path, console: Console
) -> bool:
    if missing := missing_packages():
        console.print(f"The pipeline does not run here: {', '.join(missing)} not installed")
        return False
    from .run import FreshnessRun

    seconds = round(plan.with_seconds + 2 * plan.without_seconds)
    with progress_bar(console) as progress:
        task = progress.add_task("freshness", total=seconds, note="")

        def show(sample: FreshnessSample) -> None:
            note = (
                f"{sample.phase}: {sample.produced_per_second:,.0f}/s, "
                f"p99 {sample.produce_p99_ms:.1f} ms, lag {sample.lag_records:,}, "
                f"fresh {sample.freshness_p99_seconds:.1f} s"
            )
            progress.update(task, completed=round(sample.at_seconds), note=note)

        result = FreshnessRun(directory / "run", plan, show).run()
    results.write(results_directory, "freshness", values(result))
    title = (
        f"{plan.records_per_second:,} records/s into a plain table, "
        f"a batch every {plan.trigger_seconds:g} s"
    )
    if result.samples:
        plots.draw(result.samples, title, results_directory / "freshness.png", PANELS)
    show_result(console, title, result)
    return result.is_clean


def values(result: FreshnessResult) -> dict[str, Any]:
    facts = asdict(result)
    samples = facts.pop("samples")
    return {
        "is_clean": result.is_clean,
        "produce_p99_ratio": round(result.cost, 3),
        "is_disturbed": result.is_disturbed,
        "lag_has_grown": result.lag_has_grown,
        **{name: rounded(value) for name, value in facts.items()},
        "samples": [rounded(sample) for sample in samples],
    }


def rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    return round(value, 3) if isinstance(value, float) else value


def show_result(console: Console, title: str, result: FreshnessResult) -> None:
    table = Table(title=title, show_header=False)
    for phase, p99_ms in result.produce_p99_ms.items():
        p50_ms = result.produce_p50_ms[phase]
        table.add_row(f"produce p50 / p99, {phase} (ms)", f"{p50_ms:.2f} / {p99_ms:.2f}")
    table.add_row("produce p99, with : without the job", f"{result.cost:.2f}")
    freshness = f"{result.freshness_p50_seconds:.2f} / {result.freshness_p99_seconds:.2f}"
    table.add_row("sent to readable, p50 / p99 (s)", freshness)
    table.add_row("lag", "grows" if result.lag_has_grown else "steady")
    table.add_row("batches", f"{result.batches:,}")
    table.add_row("records in the table", f"{result.records_in_table:,}")
    table.add_row("missing / repeated", f"{result.records_missing} / {result.records_repeated}")
    console.print(table)
    if result.is_disturbed:
        console.print("Before and after the job differ too much to compare with: run it again")
    for failure in result.failures:
        console.print(f"failure: {failure}", highlight=False)
