"""The verb `pipeline`: one run for each job and victim, shown and written."""

from __future__ import annotations

import shutil
from dataclasses import asdict
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from soak import results
from soak.screen import progress_bar, show_report

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.console import Console

    from .run import PipelineResult

PACKAGES = ("pyspark", "pyarrow", "duckdb", "deltalake", "pyiceberg")


def run_pipeline(
    jobs: Sequence[str],
    victims: Sequence[str],
    directory: Path,
    results_directory: Path,
    console: Console,
    *,
    kills: int,
    seed: int,
) -> bool:
    if missing := missing_packages():
        console.print(f"The pipeline does not run here: {', '.join(missing)} not installed")
        return False
    is_clean = True
    for job in jobs:
        for victim in victims:
            place = directory / f"{job}-{victim}"
            result = run_one(place, job, victim, console, kills=kills, seed=seed)
            results.write(results_directory, f"pipeline-{job}-{victim}", values(result))
            show(console, result)
            if result.is_clean:
                shutil.rmtree(place)
            is_clean = is_clean and result.is_clean
    return is_clean


def run_one(
    directory: Path, job: str, victim: str, console: Console, *, kills: int, seed: int
) -> PipelineResult:
    from .run import PipelineRun

    with progress_bar(console) as progress:
        task = progress.add_task(f"{job}, {victim}", total=kills, note="")

        def on_progress(result: PipelineResult) -> None:
            note = f"{result.drivers_started} drivers"
            progress.update(task, completed=result.kills, note=note)

        run = PipelineRun(
            directory, job=job, victim=victim, kills=kills, seed=seed, on_progress=on_progress
        )
        return run.run()


def values(result: PipelineResult) -> dict[str, Any]:
    facts = {name: value for name, value in asdict(result).items() if name != "report"}
    facts["seconds"] = round(result.seconds, 1)
    return {**facts, **(results.report_values(result.report) if result.report else {})}


def show(console: Console, result: PipelineResult) -> None:
    if result.report is not None:
        facts = asdict(result) | {"seconds": round(result.seconds, 1)}
        for hidden in ("report", "failures"):
            del facts[hidden]
        title = f"exactly once, {result.job}, kill -9 of the {result.victim}"
        show_report(console, title, facts, result.report)
    for failure in result.failures:
        console.print(f"not finished: {failure}", highlight=False)


def missing_packages() -> list[str]:
    return [name for name in PACKAGES if find_spec(name) is None]
