"""The files of a run: JSON with every value of every run, and Markdown for people."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from bench.lake.outcomes import BY_PARTITIONS, BY_SIZE
from bench.lake.tables import bars_sheet, figures_sheet, growth_sheet, markdown, summary

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bench.lake.outcomes import GrowthPoint, Measurement, Report

FORMAT_VERSION = 1
JSON_NAME = "lake.json"
MARKDOWN_NAME = "lake.md"
CURVE_TITLES = {
    BY_PARTITIONS: "Rows/s by the number of partitions, records of 100 B",
    BY_SIZE: "Rows/s by the size of the topic in GB before compression, records of 1 KiB",
}


def write_results(directory: Path, report: Report, plots: Sequence[Path]) -> list[Path]:
    directory.mkdir(parents=True, exist_ok=True)
    texts = {
        JSON_NAME: json.dumps(as_json(report), indent=1) + "\n",
        MARKDOWN_NAME: as_markdown(report, [plot.name for plot in plots]),
    }
    for name, text in texts.items():
        unfinished = directory / f"{name}.tmp"
        unfinished.write_text(text, "utf-8")
        unfinished.replace(directory / name)
    return [directory / name for name in texts]


def as_json(report: Report) -> dict[str, Any]:
    return {
        "format": FORMAT_VERSION,
        "started": report.started,
        "mode": report.mode,
        "scale": report.scale,
        "rounds": report.rounds,
        "partitions": report.partitions,
        "codec": report.codec,
        "parquet_codec": report.parquet_codec,
        "seconds": round(report.seconds, 1),
        "machine": dict(report.machine),
        "missing": report.missing,
        "left_out": report.left_out,
        "errors": report.errors,
        "bars": [{**asdict(bar), "verdict": bar.verdict} for bar in report.bars],
        "runs": [_measurement(one) for one in report.measurements],
        "growth": [_point(point) for point in report.growth],
    }


def as_markdown(report: Report, plots: Sequence[str]) -> str:
    """`plots` are links, relative to where the text will be."""
    machine = ", ".join(f"{name}: {value}" for name, value in report.machine.items())
    parts = [
        f"Measured {report.started}. {machine}.\n",
        markdown(bars_sheet(report)),
        markdown(figures_sheet(report)),
        *(line + "\n" for line in summary(report)),
    ]
    for curve, title in CURVE_TITLES.items():
        sheet = growth_sheet(report, curve)
        if sheet.rows:
            parts += [f"{title}:\n", markdown(sheet)]
    parts += [f"![{plot.rpartition('/')[2].removesuffix('.png')}]({plot})\n" for plot in plots]
    return "\n".join(parts)


def _measurement(one: Measurement) -> dict[str, Any]:
    return {
        **asdict(one),
        "route": one.route.name,
        "rows_per_second": one.rows_per_second,
        "megabytes_per_second": one.megabytes_per_second,
    }


def _point(point: GrowthPoint) -> dict[str, Any]:
    return {"curve": point.curve, "x": point.x, "run": _measurement(point.measurement)}
