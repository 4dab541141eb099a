"""The table: the same rows for the screen and for Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rich import box
from rich.table import Table

from bench.outcomes import MISSED, OK
from bench.peers import HEADRACE, KAFKA

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.figures import Figure
    from bench.outcomes import FigureOutcome, Report, WorkOutcome

NOTHING = "-"
STYLES = {OK: "green", MISSED: "bold red"}


class Row(NamedTuple):
    """One figure, as text."""

    work: str
    figure: str
    unit: str
    durability: str
    headrace: str
    kafka: str
    ratio: str
    bar: str
    verdict: str


HEADINGS = Row(
    *("work", "figure", "unit", "durability", "Headrace", "Kafka"),
    *("ratio (spread)", "bar", "verdict"),
)
NUMBER_COLUMNS = {"headrace", "kafka", "ratio", "bar"}


def number(value: float | None) -> str:
    """Three digits that count, or all before the point."""
    if value is None:
        return NOTHING
    decimals = next((places for limit, places in ((100, 0), (10, 1), (1, 2)) if value >= limit), 3)
    return f"{value:,.{decimals}f}"


def ratio_text(outcome: FigureOutcome) -> str:
    ratio = outcome.ratio
    if ratio is None:
        return NOTHING
    return f"{ratio.median:.2f} ({ratio.low:.2f}..{ratio.high:.2f})"


def bar_text(figure: Figure) -> str:
    if figure.bar is None:
        return NOTHING
    return f"{'>=' if figure.better == 'higher' else '<='} {figure.bar:g}"


def rows_of(works: Sequence[WorkOutcome]) -> list[Row]:
    return [
        Row(
            work.title,
            outcome.figure.name,
            outcome.figure.unit,
            work.durability,
            number(outcome.median(HEADRACE)),
            number(outcome.median(KAFKA)),
            ratio_text(outcome),
            bar_text(outcome.figure),
            outcome.verdict or NOTHING,
        )
        for work in works
        for outcome in work.figures
    ]


def screen_table(works: Sequence[WorkOutcome]) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    for name, heading in zip(Row._fields, HEADINGS, strict=True):
        if name in NUMBER_COLUMNS:
            table.add_column(heading, justify="right", no_wrap=True)
        else:
            table.add_column(heading)
    last = None
    for row in rows_of(works):
        if last is not None and row.work != last:
            table.add_section()
        style = STYLES.get(row.verdict)
        verdict = f"[{style}]{row.verdict}[/]" if style else row.verdict
        shown = row._replace(work="" if row.work == last else row.work, verdict=verdict)
        table.add_row(*shown)
        last = row.work
    return table


def markdown_table(works: Sequence[WorkOutcome]) -> str:
    marks = ["---:" if name in NUMBER_COLUMNS else "---" for name in Row._fields]
    lines = [HEADINGS, marks, *rows_of(works)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def summary(report: Report) -> list[str]:
    """Sentences that belong under the table."""
    verdicts = report.verdicts
    lines = [
        f"{len(verdicts)} bars, {verdicts.count(OK)} met, {verdicts.count(MISSED)} missed. "
        "Ratio = Headrace / Kafka, the median over the rounds, with the smallest and the largest.",
        f"Each broker was warmed for {report.warm_up_seconds:.0f} s before the first round; "
        f"the {report.mode} run took {report.seconds / 60:.1f} minutes at scale {report.scale:g}.",
    ]
    if report.kafka_missing:
        lines.insert(0, f"Headrace alone: {report.kafka_missing}, so there are no ratios.")
    return lines + [f"Failed: {error}" for error in report.errors]
