"""The verb `transactions`: one run per client, shown and written."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from soak import results
from soak.screen import progress_bar, show_report
from soak.transactions.programs import missing_tools
from soak.transactions.run import TransactionsResult, TransactionsRun

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.console import Console

    from bench.peers import PeerName
    from soak.transactions.programs import Client


def run_transactions(
    clients: Sequence[Client],
    directory: Path,
    results_directory: Path,
    console: Console,
    *,
    records: int,
    kills: int,
    seed: int,
    broker: PeerName,
    spare_broker: bool,
) -> bool:
    is_clean = True
    for client in clients:
        if why := missing_tools(client):
            console.print(f"{client} does not run here: {why}")
            is_clean = False
            continue
        with progress_bar(console) as progress:
            task = progress.add_task(client, total=records, note="")

            def show(result: TransactionsResult, done: int, task: Any = task) -> None:
                note = f"{result.kills_of_broker} kills of the broker"
                progress.update(task, completed=done, note=note)

            run = TransactionsRun(
                directory / client,
                client=client,
                records=records,
                kills=kills,
                seed=seed,
                broker=broker,
                spare_broker=spare_broker,
                on_progress=show,
            )
            result = run.run()
        _show(console, result)
        suffix = "" if broker == "headrace" else f"-{broker}"
        results.write(results_directory, f"transactions-{client}{suffix}", values(result))
        is_clean = is_clean and result.is_clean
    return is_clean


def values(result: TransactionsResult) -> dict[str, Any]:
    facts = {name: value for name, value in asdict(result).items() if name != "report"}
    facts["seconds"] = round(result.seconds, 1)
    return {**facts, **(results.report_values(result.report) if result.report else {})}


def _show(console: Console, result: TransactionsResult) -> None:
    facts = {
        name: value for name, value in asdict(result).items() if name not in ("report", "failures")
    }
    if result.report is not None:
        show_report(console, f"exactly once, {result.client}", facts, result.report)
    for failure in result.failures:
        console.print(f"not finished: {failure}", highlight=False)
