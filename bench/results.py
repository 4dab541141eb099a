"""The files of a run: JSON with every value of every round, and Markdown for the README."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from bench.table import markdown_table, summary

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bench.outcomes import CurveOutcome, FigureOutcome, Report, WorkOutcome

FORMAT_VERSION = 1
JSON_NAME = "latest.json"
MARKDOWN_NAME = "latest.md"


def write_results(directory: Path, report: Report, plots: Sequence[Path]) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    _write(directory / JSON_NAME, json.dumps(as_json(report), indent=1) + "\n")
    _write(directory / MARKDOWN_NAME, as_markdown(report, plots))


def as_json(report: Report) -> dict[str, Any]:
    return {
        "format": FORMAT_VERSION,
        "started": report.started,
        "mode": report.mode,
        "scale": report.scale,
        "seconds": round(report.seconds, 1),
        "warm_up_seconds": report.warm_up_seconds,
        "kafka_missing": report.kafka_missing,
        "machine": dict(report.machine),
        "works": [_work(work) for work in report.works],
        "curves": [_curves(curve) for curve in report.curves],
    }


def as_markdown(report: Report, plots: Sequence[Path]) -> str:
    machine = ", ".join(f"{name}: {value}" for name, value in report.machine.items())
    parts = [
        f"Measured {report.started}. {machine}.\n",
        markdown_table(report.works),
        *(line + "\n" for line in summary(report)),
        *(f"![{plot.stem}]({plot.name})\n" for plot in plots),
    ]
    return "\n".join(parts)


def _work(work: WorkOutcome) -> dict[str, Any]:
    return {
        "name": work.name,
        "title": work.title,
        "durability": work.durability,
        "error": work.error,
        "seconds": round(work.seconds, 1),
        "figures": [_figure(outcome) for outcome in work.figures],
    }


def _figure(outcome: FigureOutcome) -> dict[str, Any]:
    figure, ratio = outcome.figure, outcome.ratio
    return {
        "name": figure.name,
        "unit": figure.unit,
        "better": figure.better,
        "bar": figure.bar,
        "rounds": {peer: list(values) for peer, values in outcome.values.items()},
        "medians": {peer: outcome.median(peer) for peer in outcome.values},
        "ratios": list(outcome.ratios),
        "ratio": ratio._asdict() if ratio else None,
        "verdict": outcome.verdict,
    }


def _curves(outcome: CurveOutcome) -> dict[str, Any]:
    return {
        "name": outcome.name,
        "title": outcome.title,
        "durability": outcome.durability,
        "error": outcome.error,
        "seconds": round(outcome.seconds, 1),
        "series": [
            {
                "peer": peer,
                "name": series.name,
                "x_label": series.x_label,
                "y_label": series.y_label,
                "points": [list(point) for point in series.points],
            }
            for peer, all_series in outcome.series.items()
            for series in all_series
        ],
    }


def _write(path: Path, text: str) -> None:
    unfinished = path.with_suffix(path.suffix + ".tmp")
    unfinished.write_text(text, "utf-8")
    unfinished.replace(path)
