"""A reader that looks at a plain table again and again: which records are there that were not?

It knows nothing of the job: it finds files by their pattern, reads when each of their records was
sent, and notes when it saw them first. That is a little after they became readable.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

PATTERN = "*/*/*.parquet"
"""Below directories for date and hour."""
COLUMNS = ["partition", "offset", "timestamp"]
NOBODY_YET = -1


class TableWatch:
    """Partitions are numbered from 0."""

    def __init__(self, directory: Path, partitions: int) -> None:
        self._directory = directory
        self._seen: set[str] = set()
        self.positions = np.full(partitions, NOBODY_YET, np.int64)
        """The next offset of each partition."""
        self.records = 0
        self.files = 0

    def look(self) -> NDArray[np.float64]:
        """Ages in seconds, from being sent to being seen, of the records that are new."""
        now_s = time.time()
        found = {str(path) for path in self._directory.glob(PATTERN)}
        ages = [self._read(path, now_s) for path in sorted(found - self._seen)]
        self._seen &= found  # what a compaction has replaced
        self.files = len(found)
        return np.concatenate(ages) if ages else np.empty(0)

    def lag(self, ends: list[int]) -> int:
        """Of the partitions that are in the table; the others have not begun."""
        begun = self.positions != NOBODY_YET
        return int(np.maximum(np.array(ends) - self.positions, 0)[begun].sum())

    def _read(self, path: str, now_s: float) -> NDArray[np.float64]:
        try:
            table = pq.read_table(path, columns=COLUMNS, partitioning=None, use_threads=False)
        except FileNotFoundError:  # replaced meanwhile: its records are in another file
            return np.empty(0)
        self._seen.add(path)
        partitions, offsets = (table[name].to_numpy() for name in COLUMNS[:2])
        sent_us = table["timestamp"].cast(pa.int64()).to_numpy()
        is_new = offsets >= self.positions[partitions]
        np.maximum.at(self.positions, partitions, offsets + 1)
        self.records += int(is_new.sum())
        ages_s: NDArray[np.float64] = now_s - sent_us[is_new] / 1e6
        return ages_s
