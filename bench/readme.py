"""The figures in the README: those of the last full run that have a bar, and the plot."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bench.table import NUMBER_COLUMNS, rows_of, summary

if TYPE_CHECKING:
    from pathlib import Path

    from bench.outcomes import Report

BEGIN, END = "<!-- bench: begin -->", "<!-- bench: end -->"
COLUMNS = ("work", "figure", "unit", "headrace", "kafka", "ratio", "bar", "verdict")


class MarkersMissing(RuntimeError):
    """The README has no place for the figures."""


def update(readme: Path, report: Report) -> None:
    """Replace what stands between the markers."""
    text = readme.read_text("utf-8")
    before, found, rest = text.partition(BEGIN)
    _, found_end, after = rest.partition(END)
    if not (found and found_end):
        raise MarkersMissing(f"{readme.name} lacks {BEGIN} and {END}")
    readme.write_text(f"{before}{BEGIN}\n{section(report)}{END}{after}", "utf-8")


def section(report: Report) -> str:
    barred = [
        replace(work, figures=tuple(o for o in work.figures if o.figure.bar is not None))
        for work in report.works
    ]
    headings = [name.capitalize() for name in COLUMNS]
    marks = ["---:" if name in NUMBER_COLUMNS else "---" for name in COLUMNS]
    rows = [[getattr(row, name) for name in COLUMNS] for row in rows_of(barred)]
    lines = [f"| {' | '.join(line)} |" for line in [headings, marks, *rows]]
    machine = ", ".join(f"{name}: {value}" for name, value in report.machine.items())
    return "\n".join(
        [
            "![Ratios to Apache Kafka](bench/results/ratios.png)",
            "",
            *lines,
            "",
            *summary(report)[:1],
            f"Measured {report.started} on {machine}.",
            "",
        ]
    )
