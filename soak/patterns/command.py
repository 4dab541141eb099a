"""The verb `patterns`: half of the kills for the outbox, half for the saga of `examples/saga`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from soak import results
from soak.patterns.databases import database_missing, url_pattern
from soak.patterns.outbox_run import DATABASES, OutboxResult, OutboxRun
from soak.screen import progress_bar, show_report

if TYPE_CHECKING:
    from rich.console import Console

    from soak.patterns.databases import Database

SAGA = Path(__file__).parents[2] / "examples" / "saga" / "run.py"
SAGA_DATABASES = ("orders", "stock", "payment")
SAGA_SECONDS_PER_KILL = 4.0
"""At most: the services must come to work between two kills."""
SAGA_SECONDS_MAX = 1_800.0


def run_patterns(
    database: Database,
    directory: Path,
    results_directory: Path,
    console: Console,
    *,
    kills: int,
    seed: int,
) -> bool:
    if why := database_missing(database):
        console.print(f"Not run: {why}")
        return False
    outbox_kills = kills - kills // 2
    with url_pattern(database, directory / "databases", DATABASES) as pattern:
        outbox = run_outbox(directory / "outbox", pattern, outbox_kills, seed, console)
    with url_pattern(database, directory / "saga", SAGA_DATABASES) as pattern:
        status = run_saga(pattern, kills // 2, seed)
    facts: dict[str, object] = {
        "database": database,
        "seed": seed,
        "seconds of the outbox": round(outbox.seconds, 1),
        **{f"kills of the {name}": count for name, count in sorted(outbox.kills.items())},
        "kills of services of the saga": kills // 2,
        "saga": "all invariants hold" if status == 0 else f"failed with {status}",
    }
    report = outbox.report
    values = {**facts, **(results.report_values(report) if report else {})}
    results.write(
        results_directory, f"patterns-{database}", {**values, "failures": outbox.failures}
    )
    if report is not None:
        show_report(console, "outbox and saga under kill -9", facts, report)
    for failure in outbox.failures:
        console.print(f"not finished: {failure}", highlight=False)
    return outbox.is_clean and status == 0


def run_outbox(
    directory: Path, pattern: str, kills: int, seed: int, console: Console
) -> OutboxResult:
    with progress_bar(console) as progress:
        task = progress.add_task("outbox", total=kills, note="")

        def show(result: OutboxResult) -> None:
            note = ", ".join(f"{name} {count}" for name, count in sorted(result.kills.items()))
            progress.update(task, completed=result.kills.total(), note=note)

        return OutboxRun(directory, pattern, kills=kills, seed=seed, on_kill=show).run()


def run_saga(pattern: str, kills: int, seed: int) -> int:
    """The exit status of the example: 0 if no goods, no money and no message is amiss."""
    command = [sys.executable, str(SAGA), "--orders", str(2 * kills + 20), "--kills", str(kills)]
    command += ["--seed", str(seed), "--database", pattern]
    command += ["--between-seconds-max", str(SAGA_SECONDS_PER_KILL)]
    return subprocess.run(command, timeout=SAGA_SECONDS_MAX).returncode
