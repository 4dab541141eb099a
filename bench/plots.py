"""The plots of a run: ratios against their bars, latencies, and curves of growth.

Ratios are drawn as "times better than Kafka", whichever direction is good, on a logarithmic axis:
to the right of 1 Headrace is ahead, and the mark of a bar must not lie beyond the end of its beam.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FuncFormatter, NullFormatter

from bench.outcomes import MISSED
from bench.peers import HEADRACE, KAFKA, PeerName
from bench.percentiles import QUANTILES
from bench.table import number

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

    from bench.figures import Series
    from bench.outcomes import FigureOutcome, Report, WorkOutcome

mpl.use("Agg")

COLOURS: dict[PeerName, str] = {HEADRACE: "#1b6ca8", KAFKA: "#c7803c"}
MET_COLOUR, MISSED_COLOUR, NO_BAR_COLOUR = "#3a8f5c", "#c0392b", "#8a97a3"
DOTS_PER_INCH = 110
COLUMNS = 2


def write_plots(directory: Path, report: Report) -> list[Path]:
    """Every plot that this run has data for."""
    directory.mkdir(parents=True, exist_ok=True)
    canvases = {
        "ratios.png": ratio_canvas(report),
        "latency.png": latency_canvas(report),
        "growth.png": growth_canvas(report),
    }
    written = []
    for name, canvas in canvases.items():
        if canvas is not None:
            canvas.savefig(directory / name, dpi=DOTS_PER_INCH)
            written.append(directory / name)
    return written


def ratio_canvas(report: Report) -> Canvas | None:
    """One beam per figure; those with a bar on top."""
    drawn = [
        (f"{work.title}: {outcome.figure.name}", outcome)
        for work in report.works
        for outcome in work.figures
        if outcome.ratio is not None and outcome.ratio.low > 0
    ]
    if not drawn:
        return None
    drawn.sort(key=lambda pair: pair[1].figure.bar is None)
    canvas = Canvas(figsize=(11, 1.6 + 0.27 * len(drawn)), layout="constrained")
    axes = canvas.subplots()
    for row, (_, outcome) in enumerate(drawn):
        _draw_beam(axes, row, outcome)
    axes.set_yticks(range(len(drawn)), [label for label, _ in drawn], fontsize=8)
    axes.invert_yaxis()
    axes.margins(x=0.1, y=0.01)
    axes.axvline(1, color="black", linewidth=1)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}x"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.grid(axis="x", which="both", alpha=0.25)
    axes.set_xlabel("times better than Apache Kafka (right of 1x: Headrace is better)")
    axes.set_title("Headrace against a warm Apache Kafka in the same run; black mark = bar")
    return canvas


def _draw_beam(axes: Axes, row: int, outcome: FigureOutcome) -> None:
    figure, ratio = outcome.figure, outcome.ratio
    assert ratio is not None
    value = figure.advantage(ratio.median)
    ends = sorted((figure.advantage(ratio.low), figure.advantage(ratio.high)))
    mark = figure.advantage(figure.bar) if figure.bar is not None else 1.0
    colour = MISSED_COLOUR if outcome.verdict == MISSED else MET_COLOUR
    if figure.bar is None:
        colour = NO_BAR_COLOUR
    # A beam grows from 1x, which a logarithmic axis does not do by itself.
    axes.barh(row, value - 1, left=1, color=colour, height=0.66)
    axes.plot(ends, [row, row], color="black", linewidth=1)
    axes.annotate(
        f"{number(value)}x",
        (max(1.0, mark, *ends), row),
        textcoords="offset points",
        xytext=(6, 0),
        va="center",
        fontsize=7.5,
    )
    if figure.bar is not None:
        axes.plot([mark, mark], [row - 0.45, row + 0.45], color="black", linewidth=2.5)


def latency_canvas(report: Report) -> Canvas | None:
    """The percentiles of every work that has them, both brokers side by side."""
    works = [
        work
        for work in report.works
        if {outcome.figure.name for outcome in work.figures} >= set(QUANTILES)
    ]
    if not works:
        return None
    canvas = Canvas(figsize=(4 * len(works) + 1, 4), layout="constrained")
    for axes, work in zip(canvas.subplots(1, len(works), squeeze=False)[0], works, strict=True):
        _draw_percentiles(axes, work)
    return canvas


def _draw_percentiles(axes: Axes, work: WorkOutcome) -> None:
    outcomes = [outcome for outcome in work.figures if outcome.figure.name in QUANTILES]
    peers = [peer for peer in COLOURS if any(outcome.values.get(peer) for outcome in outcomes)]
    width = 0.8 / max(len(peers), 1)
    for place, peer in enumerate(peers):
        heights = [outcome.median(peer) or 0 for outcome in outcomes]
        positions = [row + place * width for row in range(len(outcomes))]
        beams = axes.bar(positions, heights, width, color=COLOURS[peer], label=peer.title())
        axes.bar_label(beams, [number(height) for height in heights], fontsize=7)
    centre = (len(peers) - 1) * width / 2
    axes.set_xticks(
        [row + centre for row in range(len(outcomes))],
        [outcome.figure.name for outcome in outcomes],
    )
    axes.set_yscale("log")
    axes.margins(y=0.12)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_ylabel(f"{outcomes[0].figure.unit} (less is better)")
    axes.set_title(f"{work.title}\n({work.durability})", fontsize=9)
    axes.legend(fontsize=8)


def growth_canvas(report: Report) -> Canvas | None:
    """One plot for each name of a series, one line for each broker."""
    plots: dict[str, list[tuple[PeerName, Series]]] = {}
    for curve in report.curves:
        for peer, all_series in curve.series.items():
            for series in all_series:
                plots.setdefault(series.name, []).append((peer, series))
    if not plots:
        return None
    rows = -(-len(plots) // COLUMNS)
    canvas = Canvas(figsize=(6 * COLUMNS, 3.6 * rows), layout="constrained")
    places = canvas.subplots(rows, COLUMNS, squeeze=False).flat
    for axes, (name, lines) in zip(places, plots.items(), strict=False):
        _draw_lines(axes, name, lines)
    for axes in places:
        axes.set_axis_off()
    return canvas


def _draw_lines(axes: Axes, name: str, lines: list[tuple[PeerName, Series]]) -> None:
    for peer, series in lines:
        xs, ys = [point.x for point in series.points], [point.y for point in series.points]
        axes.plot(xs, ys, marker="o", color=COLOURS[peer], label=peer.title())
        if xs and min(xs) > 0 and max(xs) / min(xs) >= 100:
            axes.set_xscale("log")
    axes.set_ylim(bottom=0)
    axes.set_title(name, fontsize=10)
    axes.set_xlabel(lines[0][1].x_label)
    axes.set_ylabel(lines[0][1].y_label)
    axes.grid(alpha=0.25)
    axes.legend(fontsize=8)
