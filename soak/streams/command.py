"""The verb `streams`: the word count, shown and written."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from soak import results
from soak.screen import progress_bar, show_report
from soak.streams.run import WORDS_PER_LINE, StreamsResult, StreamsRun
from soak.transactions.programs import missing_tools

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from bench.peers import PeerName


def run_streams(
    directory: Path,
    results_directory: Path,
    console: Console,
    *,
    lines: int,
    kills: int,
    seed: int,
    broker: PeerName,
) -> bool:
    if why := missing_tools("java"):
        console.print(f"Kafka Streams does not run here: {why}")
        return False
    with progress_bar(console) as progress:
        task = progress.add_task("word count", total=lines * WORDS_PER_LINE, note="")

        def show(result: StreamsResult, words: int) -> None:
            note = f"{result.kills_of_broker} + {result.kills_of_application} kills"
            progress.update(task, completed=words, note=note)

        result = StreamsRun(
            directory, lines=lines, kills=kills, seed=seed, broker=broker, on_progress=show
        ).run()
    facts = {name: value for name, value in asdict(result).items() if name != "report"}
    facts["seconds"] = round(result.seconds, 1)
    values = {**facts, **(results.report_values(result.report) if result.report else {})}
    suffix = "" if broker == "headrace" else f"-{broker}"
    results.write(results_directory, f"streams{suffix}", values)
    if result.report is not None:
        show_report(console, "Kafka Streams, exactly_once_v2", facts, result.report)
    for failure in result.failures:
        console.print(f"not finished: {failure}", highlight=False)
    return result.is_clean
