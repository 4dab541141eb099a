"""What a measurement yields: figures with a bar, and series for the growth curves.

A bar is a wanted ratio headrace/kafka in the same run: at least that for a figure of which more is
better, at most that for one of which less is better. A figure without a bar is shown, not judged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

Better = Literal["higher", "lower"]

PAGE_CACHE = "page cache"
FSYNC_PER_REQUEST = "fsync per request"


@dataclass(frozen=True)
class Figure:
    """One number of a work: its name is unique within the work."""

    name: str
    unit: str
    better: Better
    bar: float | None = None

    def meets_bar(self, ratio: float) -> bool | None:
        """Whether this ratio headrace/kafka is good enough; None if nothing is asked of it."""
        if self.bar is None:
            return None
        return ratio >= self.bar if self.better == "higher" else ratio <= self.bar

    def advantage(self, ratio: float) -> float:
        """How many times better than Kafka: above 1 is better, whichever direction is good."""
        return ratio if self.better == "higher" else 1 / ratio


class Point(NamedTuple):
    """One measured point of a curve."""

    x: float
    y: float


@dataclass(frozen=True)
class Series:
    """One curve of one peer; curves of the two peers with the same name share a plot."""

    name: str
    x_label: str
    y_label: str
    points: tuple[Point, ...]
