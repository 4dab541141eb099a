"""Rows that wait until they fill a row group: small ones cost readers the most."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from headrace.pipeline.tables.file_options import ROW_GROUP_BYTES, ROW_GROUP_ROWS

if TYPE_CHECKING:
    from collections.abc import Sequence


class RowGroups:
    """Batches of any size in, row groups out. Whoever fills several watches ``pending_bytes``."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._pending: list[pa.RecordBatch] = []
        self._pending_rows = 0
        self.pending_bytes = 0

    def add(self, batch: pa.RecordBatch) -> list[pa.Table]:
        """The row groups that are full now."""
        self._pending.append(batch)
        self._pending_rows += batch.num_rows
        self.pending_bytes += batch.nbytes
        if self._pending_rows < ROW_GROUP_ROWS:
            return self.rest() if self.pending_bytes >= ROW_GROUP_BYTES else []
        *full, last = self.rest()
        if last.num_rows == ROW_GROUP_ROWS:
            return [*full, last]
        self._keep(last.to_batches())
        return full

    def rest(self) -> list[pa.Table]:
        """All that waits; the last row group may be a small one."""
        table = pa.Table.from_batches(self._pending, self._schema)
        self._keep([])
        return [
            table.slice(first, ROW_GROUP_ROWS) for first in range(0, table.num_rows, ROW_GROUP_ROWS)
        ]

    def _keep(self, batches: Sequence[pa.RecordBatch]) -> None:
        self._pending = list(batches)
        self._pending_rows = sum(batch.num_rows for batch in batches)
        self.pending_bytes = sum(batch.nbytes for batch in batches)
