"""What a batch did, and what all of them did together."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from headrace.pipeline.ranges import PositionMap


class ParquetProgress(NamedTuple):
    """One committed batch."""

    batch_id: int
    rows: int
    parked_rows: int
    files: int
    size_bytes: int
    positions: PositionMap
    """Where the job stands now."""
    ends: PositionMap
    """Where the topics ended when the batch was planned."""
    seconds: float

    @property
    def lag_records(self) -> int:
        return sum(
            max(0, end - self.positions.get(topic, {}).get(partition, 0))
            for topic, partitions in self.ends.items()
            for partition, end in partitions.items()
        )

    @property
    def rows_per_second(self) -> float:
        return self.rows / self.seconds if self.seconds else 0.0


class ParquetReport(NamedTuple):
    """One run."""

    batches: int = 0
    rows: int = 0
    parked_rows: int = 0
    files: int = 0
    size_bytes: int = 0
    seconds: float = 0.0

    def plus(self, progress: ParquetProgress) -> ParquetReport:
        return ParquetReport(
            self.batches + 1,
            self.rows + progress.rows,
            self.parked_rows + progress.parked_rows,
            self.files + progress.files,
            self.size_bytes + progress.size_bytes,
            self.seconds,
        )
