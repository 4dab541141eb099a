"""The figures in the page on performance: those of the last full run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.lake.plots import GROWTH_NAME, WAYS_NAME
from bench.lake.results import MARKDOWN_NAME, as_markdown
from bench.readme import MarkersMissing

if TYPE_CHECKING:
    from pathlib import Path

    from bench.lake.outcomes import Report

BEGIN, END = "<!-- bench lake: begin -->", "<!-- bench lake: end -->"
RESULTS = "../bench/results"


def update(page: Path, report: Report) -> None:
    """Replace what stands between the markers."""
    text = page.read_text("utf-8")
    before, found, rest = text.partition(BEGIN)
    _, found_end, after = rest.partition(END)
    if not (found and found_end):
        raise MarkersMissing(f"{page.name} lacks {BEGIN} and {END}")
    page.write_text(f"{before}{BEGIN}\n{section(report)}{END}{after}", "utf-8")


def section(report: Report) -> str:
    plots = [WAYS_NAME, *([GROWTH_NAME] if report.growth else [])]
    text = as_markdown(report, [f"{RESULTS}/{name}" for name in plots])
    return f"{text}\nThe same as a file: [{MARKDOWN_NAME}]({RESULTS}/{MARKDOWN_NAME}).\n"
