"""A table as the end of a query: tasks write Parquet, the driver commits, each batch once.

What a query makes has no offsets of its own, so the batch stands in for them: a file of task 3 in
batch 17 holds "offset" 17 of "partition" 3. The "topic" is the job with the id of its checkpoint,
since numbers of batches mean something only within one checkpoint. The table then refuses a batch
twice by the same rule as it does for records of a topic.
"""

from __future__ import annotations

import logging
import threading
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.model.errors import HeadraceError
from headrace.pipeline.errors import ForeignCheckpoint
from headrace.pipeline.ranges import OffsetRange
from headrace.pipeline.tables import open_table
from headrace.pipeline.tables.data_file import DataFile
from headrace.pipeline.tables.errors import CompactionNotPossible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    import pyarrow as pa

    from headrace.pipeline.tables.file_layout import FileLayout
    from headrace.pipeline.tables.table import Table

log = logging.getLogger(__name__)

FILE_COLUMN = "file"
COMPACT_BATCHES = 50
"""So many commits, then a compaction."""


class Written(NamedTuple):
    """Files that were committed."""

    files: int = 0
    size_bytes: int = 0


class TableSink:
    """The function of ``foreachBatch``, with the table that it writes to.

    Spark calls ``write`` in a thread of its own; everything else is for the thread that made this.
    """

    def __init__(
        self,
        job: str,
        kind: str,
        url: str,
        options: Mapping[str, str],
        *,
        checkpoint_id: Callable[[], str],
        is_compacting: bool = True,
    ) -> None:
        """``checkpoint_id`` is asked at the first batch: before there is none."""
        self._job = job
        self._open: Callable[[], Table] = lambda: open_table(
            kind, url, partition_by="none", options=options
        )
        self._checkpoint_id = checkpoint_id
        self._origin = ""
        self._table: Table | None = None
        self._is_compacting = is_compacting
        self._uncompacted = 0
        self._written = Written()
        self._guard = threading.Lock()

    def write(self, frame: Any, batch_id: int) -> None:
        """Commit one batch; nothing happens if it is in the table already."""
        table = self._opened()
        if self._is_known(table, batch_id):
            return
        schema = arrow_schema(frame)
        task = file_task(table.layout, self._origin, batch_id, schema)
        rows = frame.mapInArrow(task, f"{FILE_COLUMN} string").collect()
        files = [DataFile.from_json(row[FILE_COLUMN]) for row in rows]
        # Of a batch without rows too: by its origin the table is known to be this checkpoint's.
        reached = {0: batch_id + 1} | {each.partition: each.end for f in files for each in f.ranges}
        if table.commit(self._job, batch_id, files, [], schema, {self._origin: reached}):
            self._count(files)
            self._maybe_compact(table)

    def take_written(self) -> Written:
        """What was committed since the last call."""
        with self._guard:
            taken, self._written = self._written, Written()
        return taken

    def close(self) -> None:
        """Give the table back."""
        if self._table is not None:
            self._table.close()
            self._table = None

    def _opened(self) -> Table:
        if self._table is None:
            self._origin = f"{self._job}-{self._checkpoint_id()}"
            self._table = self._open()
        return self._table

    def _is_known(self, table: Table, batch_id: int) -> bool:
        """ForeignCheckpoint if a batch of this number is there, but of another checkpoint."""
        committed = table.committed_batch(self._job)
        if committed is None or batch_id > committed:
            return False
        if self._origin not in table.committed_positions(self._job):
            raise ForeignCheckpoint(
                f"{table.url} has batch {batch_id} of job {self._job} from another checkpoint, "
                "which was deleted or is elsewhere; bring it back, give the job another target, or "
                "give it another name and let it take the table over (sink option takeover=true)"
            )
        return True

    def _count(self, files: list[DataFile]) -> None:
        with self._guard:
            self._written = Written(
                self._written.files + len(files),
                self._written.size_bytes + sum(file.size_bytes for file in files),
            )

    def _maybe_compact(self, table: Table) -> None:
        self._uncompacted += 1
        if not self._is_compacting or self._uncompacted < COMPACT_BATCHES:
            return
        self._uncompacted = 0
        try:
            table.compact()
        except CompactionNotPossible as error:
            self._is_compacting = False
            log.warning("no compaction from now on: %s", error.message)
        except HeadraceError as error:
            if not error.retriable:
                raise
            log.warning("no compaction this time: %s", error.message)


def arrow_schema(frame: Any) -> pa.Schema:
    """Of the files: the frame's columns, times in UTC."""
    from pyspark.sql.pandas.types import to_arrow_schema

    return to_arrow_schema(frame.schema, timezone="UTC")


def file_task(
    layout: FileLayout, origin: str, batch_id: int, schema: pa.Schema
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What each task does: all of its rows into one file, and one row about that file."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as arrow
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None, "this runs in a task"
        range_ = OffsetRange(origin, context.partitionId(), batch_id, batch_id + 1)
        written = write_file(layout, range_, schema, batches)
        if written is not None:
            yield arrow.RecordBatch.from_pydict({FILE_COLUMN: [written.to_json()]})

    return run


def write_file(
    layout: FileLayout, range_: OffsetRange, schema: pa.Schema, batches: Iterable[pa.RecordBatch]
) -> DataFile | None:
    """None: there were no rows, and there is no file."""
    import pyarrow.parquet as parquet

    from headrace.pipeline.tables.file_options import writer_options
    from headrace.pipeline.tables.row_groups import RowGroups

    filled = (batch for batch in batches if batch.num_rows)
    first = next(filled, None)
    if first is None:
        return None
    new_file = layout.new_file(range_, {})
    collected: list[Any] = []
    options = writer_options(schema, compression=layout.compression)
    waiting = RowGroups(schema)
    with (
        layout.open(new_file) as stream,
        parquet.ParquetWriter(stream, schema, metadata_collector=collected, **options) as writer,
    ):
        for batch in chain([first], filled):
            for group in waiting.add(batch.cast(schema)):
                writer.write_table(group)
        for group in waiting.rest():
            writer.write_table(group)
    return layout.describe(new_file, collected[0])
