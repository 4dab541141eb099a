"""What a person sees: a bar while it runs, a table at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

if TYPE_CHECKING:
    from rich.console import Console

    from headrace.testing.history import Report


def progress_bar(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[note]}"),
        console=console,
    )


def show_report(console: Console, title: str, facts: dict[str, object], report: Report) -> None:
    table = Table(title=title, show_header=False)
    for name, value in facts.items():
        table.add_row(name, f"{value:,}" if isinstance(value, int) else str(value))
    table.add_section()
    for name, count in report.counts.items():
        table.add_row(name, f"{count:,}")
    table.add_section()
    table.add_row("violations", str(sum(report.violations.values())))
    for fault, count in report.violations.items():
        table.add_row(f"  {fault.value}", f"{count:,}")
    console.print(table)
    for violation in report.examples:
        console.print(str(violation), highlight=False)
