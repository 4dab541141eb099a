"""The plots of a run: rates, broker CPU and memory of the four ways, and the curves of growth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FuncFormatter, MaxNLocator

from bench.lake.outcomes import (
    BROKER_SHARE_MAX,
    BY_PARTITIONS,
    BY_SIZE,
    ENGINE_FACTOR_MIN,
    SOURCE_FACTOR_MIN,
    median_of,
)
from bench.lake.routes import CONNECTOR, ENGINE, ROUTES, SOURCE
from bench.table import number

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from matplotlib.axes import Axes

    from bench.lake.outcomes import GrowthPoint, Measurement, Report
    from bench.lake.routes import Route

    Value = Callable[[Measurement], float]

mpl.use("Agg")

DOTS_PER_INCH = 110
TICKS_MAX = 5
WAYS_NAME, GROWTH_NAME = "lake.png", "lake_growth.png"
CURVE_LABELS = {BY_PARTITIONS: "partitions (100 B)", BY_SIZE: "GB before compression (1 KiB)"}


def write_plots(directory: Path, report: Report) -> list[Path]:
    """Every plot that this run has data for."""
    directory.mkdir(parents=True, exist_ok=True)
    canvases = {WAYS_NAME: ways_canvas(report), GROWTH_NAME: growth_canvas(report)}
    written = []
    for name, canvas in canvases.items():
        if canvas is not None:
            canvas.savefig(directory / name, dpi=DOTS_PER_INCH)
            written.append(directory / name)
    return written


def ways_canvas(report: Report) -> Canvas | None:
    """A row for each size of records: rate, broker CPU, memory."""
    shapes = report.shapes
    if not shapes:
        return None
    canvas = Canvas(figsize=(15, 1 + 2.3 * len(shapes)), layout="constrained")
    for row, shape in zip(canvas.subplots(len(shapes), 3, squeeze=False), shapes, strict=True):
        marks = _rate_marks(report, shape)
        _draw_beams(row[0], report, shape, lambda one: one.rows_per_second, marks)
        row[0].set_title(f"{shape}: rows/s (more is better)", fontsize=10)
        row[0].xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / 1e6:g} M"))
        marks = _cost_marks(report, shape)
        _draw_beams(row[1], report, shape, lambda one: one.broker_cpu_seconds, marks)
        row[1].set_title(f"{shape}: broker CPU, s (less is better)", fontsize=10)
        _draw_beams(row[2], report, shape, lambda one: one.spark_own_megabytes, {})
        row[2].set_title(f"{shape}: peak of Spark's own memory, MB", fontsize=10)
        for axes in row[1:]:
            axes.set_yticklabels([])
    canvas.suptitle(
        f"Topic to Parquet, {report.partitions} partitions, {report.codec}; black mark = bar",
        fontsize=11,
    )
    return canvas


def _draw_beams(
    axes: Axes, report: Report, shape: str, value: Value, marks: Mapping[Route, float]
) -> None:
    """The median of each way as a beam, the lowest and the highest as a line, its bar as a mark."""
    routes = [route for route in ROUTES if report.of(shape, route)]
    for row, route in enumerate(routes):
        found = report.of(shape, route)
        values = [value(one) for one in found]
        axes.barh(row, median_of(found, value), color=route.colour, height=0.62)
        axes.plot([min(values), max(values)], [row, row], color="black", linewidth=1)
        mark = marks.get(route, 0.0)
        if mark:
            axes.plot([mark, mark], [row - 0.42, row + 0.42], color="black", linewidth=2.5)
        axes.annotate(
            number(median_of(found, value)),
            (max(*values, mark), row),
            textcoords="offset points",
            xytext=(5, 0),
            va="center",
            fontsize=8,
        )
    axes.set_yticks(range(len(routes)), [route.title for route in routes], fontsize=9)
    axes.invert_yaxis()
    axes.margins(x=0.28)
    axes.xaxis.set_major_locator(MaxNLocator(TICKS_MAX))
    axes.grid(axis="x", alpha=0.25)


def _rate_marks(report: Report, shape: str) -> dict[Route, float]:
    """What is asked of the ways that are not the connector."""
    rates = [
        one.rows_per_second
        for route in ROUTES
        if route.is_connector
        for one in report.of(shape, route)
    ]
    if not rates:
        return {}
    return {ENGINE: ENGINE_FACTOR_MIN * max(rates), SOURCE: SOURCE_FACTOR_MIN * max(rates)}


def _cost_marks(report: Report, shape: str) -> dict[Route, float]:
    found = report.of(shape, CONNECTOR)
    if not found:
        return {}
    limit = BROKER_SHARE_MAX * median_of(found, lambda one: one.broker_cpu_seconds)
    return {ENGINE: limit, SOURCE: limit}


def growth_canvas(report: Report) -> Canvas | None:
    """Rows/s: one plot for each thing that grows, one line for each way."""
    curves = [name for name in CURVE_LABELS if any(p.curve == name for p in report.growth)]
    if not curves:
        return None
    canvas = Canvas(figsize=(6.5 * len(curves), 4.2), layout="constrained")
    for axes, curve in zip(canvas.subplots(1, len(curves), squeeze=False)[0], curves, strict=True):
        _draw_curves(axes, report, curve)
    return canvas


def _draw_curves(axes: Axes, report: Report, curve: str) -> None:
    points = [point for point in report.growth if point.curve == curve]
    for route in ROUTES:
        line = sorted((p.x, p.measurement.rows_per_second) for p in points if _is_of(p, route))
        if line:
            xs, ys = zip(*line, strict=True)
            axes.plot(xs, ys, marker="o", color=route.colour, label=route.title)
    ticks = sorted({point.x for point in points})
    axes.set_xscale("log")
    axes.set_xticks(ticks, [f"{x:.3g}" for x in ticks], minor=False)
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / 1e6:g} M"))
    axes.set_xlabel(CURVE_LABELS[curve])
    axes.set_ylabel("rows/s")
    axes.grid(alpha=0.25)
    axes.legend(fontsize=8)


def _is_of(point: GrowthPoint, route: Route) -> bool:
    return point.measurement.route == route
