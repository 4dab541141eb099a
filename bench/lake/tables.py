"""The tables of a report: the same rows for the screen and for Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rich import box
from rich.table import Table

from bench.lake.outcomes import MEGABYTE, median_of
from bench.lake.routes import ROUTES
from bench.outcomes import MISSED, OK
from bench.table import STYLES, number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.lake.outcomes import Bar, Measurement, Report


class Sheet(NamedTuple):
    """A table as text; the first `texts` columns are words, the others numbers."""

    headings: tuple[str, ...]
    rows: list[tuple[str, ...]]
    texts: int


def figures_sheet(report: Report) -> Sheet:
    """The medians of all rounds; of the rate also the lowest and the highest."""
    headings = (
        *("records", "way", "rows/s (spread)", "MB/s", "broker CPU s", "Spark CPU s"),
        *("Spark MB", "of it own", "broker MB", "Parquet MB", "files"),
    )
    rows = [
        (shape, route.title, *_figures(found))
        for shape in report.shapes
        for route in ROUTES
        if (found := report.of(shape, route))
    ]
    return Sheet(headings, rows, 2)


def _figures(found: Sequence[Measurement]) -> tuple[str, ...]:
    rates = [one.rows_per_second for one in found]
    rate = number(median_of(found, lambda one: one.rows_per_second))
    return (
        f"{rate} ({number(min(rates))}..{number(max(rates))})",
        number(median_of(found, lambda one: one.megabytes_per_second)),
        number(median_of(found, lambda one: one.broker_cpu_seconds)),
        number(median_of(found, lambda one: one.spark_cpu_seconds)),
        number(median_of(found, lambda one: one.spark_megabytes)),
        number(median_of(found, lambda one: one.spark_own_megabytes)),
        number(median_of(found, lambda one: one.broker_megabytes)),
        number(median_of(found, lambda one: one.parquet_bytes / MEGABYTE)),
        f"{median_of(found, lambda one: one.files):g}",
    )


def bars_sheet(report: Report) -> Sheet:
    headings = ("records", "ratio", "verdict", "found (spread)", "bar")
    return Sheet(headings, [_bar(bar) for bar in report.bars], 3)


def _bar(bar: Bar) -> tuple[str, ...]:
    sign = ">=" if bar.is_least else "<="
    found = f"{bar.ratio:.3g} ({bar.low:.3g}..{bar.high:.3g})"
    return (bar.shape, bar.title, bar.verdict, found, f"{sign} {bar.limit:g}")


def growth_sheet(report: Report, curve: str) -> Sheet:
    """Rows/s: a line for each point, a column for each way."""
    points = [point for point in report.growth if point.curve == curve]
    routes = [route for route in ROUTES if any(p.measurement.route == route for p in points)]
    rates = {(p.x, p.measurement.route): p.measurement.rows_per_second for p in points}
    rows = [
        (f"{x:.3g}", *(number(rates.get((x, route))) for route in routes))
        for x in sorted({point.x for point in points})
    ]
    return Sheet((curve, *(route.title for route in routes)), rows, 0)


def markdown(sheet: Sheet) -> str:
    count = len(sheet.headings)
    marks = ["---" if index < sheet.texts else "---:" for index in range(count)]
    lines = [sheet.headings, marks, *sheet.rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def screen(sheet: Sheet) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    for index, heading in enumerate(sheet.headings):
        is_text = index < sheet.texts
        table.add_column(heading, justify="left" if is_text else "right", no_wrap=not is_text)
    for row in sheet.rows:
        table.add_row(*(f"[{STYLES[cell]}]{cell}[/]" if cell in STYLES else cell for cell in row))
    return table


def summary(report: Report) -> list[str]:
    """Sentences that belong under the tables."""
    verdicts = [bar.verdict for bar in report.bars]
    lines = [
        f"{len(verdicts)} bars, {verdicts.count(OK)} met, {verdicts.count(MISSED)} missed. "
        "Rates are compared with the best of all runs of the connector, on either broker.",
        f"{_batches(report)}, {report.partitions} partitions, "
        f"{report.rounds} rounds; all write Parquet with {report.parquet_codec}. "
        f"The {report.mode} run took {report.seconds / 60:.1f} minutes at scale "
        f"{report.scale:g}.",
    ]
    if report.missing:
        lines.insert(0, f"Not all ways were run: {report.missing}.")
    lines += [f"Left out: {what}" for what in report.left_out]
    return lines + [f"Failed: {error}" for error in report.errors]


def _batches(report: Report) -> str:
    is_plain = report.codec == "none"
    return "Batches without compression" if is_plain else f"Batches compressed with {report.codec}"
