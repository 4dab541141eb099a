"""What one batch of a job did: the same four numbers, whoever did the work.

The Parquet engine tells it in its own words, Spark's streaming queries in theirs; both become a
``JobProgress``, and travel from the process that works to the one that supervises as a JSON line.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

Positions = dict[str, dict[str, int]]
"""Topic, partition (as text, as in JSON), next offset."""


class JobProgress(NamedTuple):
    """One committed batch."""

    rows: int = 0
    parked_rows: int = 0
    files: int = 0
    size_bytes: int = 0
    positions: Positions = {}  # noqa: RUF012 - never changed, and a default of a tuple
    lag_records: int | None = None


def from_engine(progress: Any) -> JobProgress:
    """From what the Parquet engine tells after each batch."""
    positions = with_text_partitions(progress.positions)
    return JobProgress(
        rows=progress.rows,
        parked_rows=progress.parked_rows,
        files=progress.files,
        size_bytes=progress.size_bytes,
        positions=positions,
        lag_records=lag_between(positions, with_text_partitions(progress.ends)),
    )


def from_query(progress: Mapping[str, Any]) -> JobProgress:
    """From the progress of a streaming query of Spark."""
    positions: Positions = {}
    ends: Positions = {}
    for source in progress.get("sources", ()):
        positions |= _positions(source.get("endOffset"))
        ends |= _positions(source.get("latestOffset"))
    return JobProgress(
        rows=int(progress.get("numInputRows", 0)),
        positions=positions,
        lag_records=lag_between(positions, ends) if ends else None,
    )


def lag_between(positions: Positions, ends: Positions) -> int:
    """Offsets that are still to be read; a partition without a position counts from 0."""
    return sum(
        max(end - positions.get(topic, {}).get(partition, 0), 0)
        for topic, partitions in ends.items()
        for partition, end in partitions.items()
    )


def with_text_partitions(positions: Mapping[str, Mapping[Any, int]] | None) -> Positions:
    return {
        topic: {str(partition): int(offset) for partition, offset in partitions.items()}
        for topic, partitions in (positions or {}).items()
    }


def _positions(offset: Any) -> Positions:
    """Spark gives offsets as JSON text or as an object; other sources have other shapes.

    Ours has also names that begin with ``@``, which are no topics.
    """
    value = json.loads(offset) if isinstance(offset, str) else offset
    if not isinstance(value, dict):
        return {}
    topics = {name: partitions for name, partitions in value.items() if not name.startswith("@")}
    if not all(isinstance(partitions, dict) for partitions in topics.values()):
        return {}
    return with_text_partitions(topics)
