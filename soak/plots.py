"""A run over time, one panel per quantity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

COLUMNS = 2
PANEL_INCHES = (6.5, 2.3)
COLOURS = ("#1f5f8b", "#d9822b")


class Panel(NamedTuple):
    """One or two lines, named as in the legend."""

    title: str
    lines: dict[str, str]


PANELS = (
    Panel(
        "Records per second", {"produced": "produced_per_second", "consumed": "consumed_per_second"}
    ),
    Panel(
        "Latency to the acknowledgement (ms)", {"p50": "produce_p50_ms", "p99": "produce_p99_ms"}
    ),
    Panel("Latency to the reader (ms)", {"p50": "end_to_end_p50_ms", "p99": "end_to_end_p99_ms"}),
    Panel("Broker: resident memory (MB)", {"broker": "resident_megabytes"}),
    Panel("Broker: CPU (% of a core)", {"broker": "cpu_percent"}),
    Panel(
        "Broker: open descriptors and threads", {"descriptors": "descriptors", "threads": "threads"}
    ),
    Panel("Disk (MB)", {"disk": "disk_megabytes"}),
    Panel("Partitions and groups", {"partitions": "partitions", "groups": "groups"}),
)


def draw(samples: Sequence[Any], title: str, path: Path, panels: Sequence[Panel] = PANELS) -> None:
    """``panels`` name attributes of the samples, which also say ``at_seconds``."""
    rows = -(-len(panels) // COLUMNS)
    size = PANEL_INCHES[0] * COLUMNS, PANEL_INCHES[1] * rows + 0.6
    figure, axes = pyplot.subplots(rows, COLUMNS, figsize=size, sharex=True, squeeze=False)
    minutes = [sample.at_seconds / 60 for sample in samples]
    for panel, axis in zip(panels, axes.flat, strict=False):
        draw_panel(panel, axis, minutes, samples)
    for axis in axes[-1]:
        axis.set_xlabel("minutes")
    figure.suptitle(title)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def draw_panel(panel: Panel, axis: Axes, minutes: list[float], samples: Sequence[Any]) -> None:
    highest = 0.0
    for colour, (label, name) in zip(COLOURS, panel.lines.items(), strict=False):
        values = [float(getattr(sample, name)) for sample in samples]
        highest = max(highest, *values)
        axis.plot(minutes, values, color=colour, linewidth=1.0, label=label)
    axis.set_title(panel.title, fontsize=9, loc="left")
    axis.set_ylim(0, 1.1 * highest or 1.0)
    axis.grid(alpha=0.3)
    axis.tick_params(labelsize=8)
    if len(panel.lines) > 1:
        axis.legend(fontsize=7, loc="lower right")
