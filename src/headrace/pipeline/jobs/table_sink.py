"""A table as the end of a query: tasks write Parquet, the driver commits, each batch once.

What a query makes has no offsets of its own, so the batch stands in for them: a file of task 3 in
batch 17 holds "offset" 17 of "partition" 3 of the job. The table then refuses a batch twice by the
same rule as it does for records of a topic.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.pipeline.ranges import OffsetRange
from headrace.pipeline.tables import open_table
from headrace.pipeline.tables.data_file import DataFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    import pyarrow as pa

    from headrace.pipeline.tables.file_layout import FileLayout
    from headrace.pipeline.tables.table import Table

COMPRESSION = "zstd"
FILE_COLUMN = "file"


class Written(NamedTuple):
    """Files that were committed."""

    files: int = 0
    size_bytes: int = 0


class TableSink:
    """The function of ``foreachBatch``, with the table that it writes to."""

    def __init__(self, job: str, kind: str, url: str, options: Mapping[str, str]) -> None:
        self._job = job
        self._open: Callable[[], Table] = lambda: open_table(
            kind, url, partition_by="none", options=options
        )
        self._table: Table | None = None
        self._written = Written()

    def write(self, frame: Any, batch_id: int) -> None:
        """Commit one batch; nothing happens if it is in the table already."""
        table = self._opened()
        committed = table.committed_batch(self._job)
        if committed is not None and batch_id <= committed:
            return
        schema = arrow_schema(frame)
        task = file_task(table.layout, self._job, batch_id, schema)
        rows = frame.mapInArrow(task, f"{FILE_COLUMN} string").collect()
        files = [DataFile.from_json(row[FILE_COLUMN]) for row in rows]
        reached = {each.partition: each.end for file in files for each in file.ranges}
        if table.commit(self._job, batch_id, files, [], schema, {self._job: reached}):
            size_bytes = sum(file.size_bytes for file in files)
            self._written = Written(
                self._written.files + len(files), self._written.size_bytes + size_bytes
            )

    def take_written(self) -> Written:
        """What was committed since the last call."""
        taken, self._written = self._written, Written()
        return taken

    def close(self) -> None:
        """Give the table back."""
        if self._table is not None:
            self._table.close()
            self._table = None

    def _opened(self) -> Table:
        if self._table is None:
            self._table = self._open()
        return self._table


def arrow_schema(frame: Any) -> pa.Schema:
    """Of the files: the frame's columns, times in UTC."""
    from pyspark.sql.pandas.types import to_arrow_schema

    return to_arrow_schema(frame.schema, timezone="UTC")


def file_task(
    layout: FileLayout, job: str, batch_id: int, schema: pa.Schema
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What each task does: all of its rows into one file, and one row about that file."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as arrow
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None, "this runs in a task"
        range_ = OffsetRange(job, context.partitionId(), batch_id, batch_id + 1)
        written = write_file(layout, range_, schema, batches)
        if written is not None:
            yield arrow.RecordBatch.from_pydict({FILE_COLUMN: [written.to_json()]})

    return run


def write_file(
    layout: FileLayout, range_: OffsetRange, schema: pa.Schema, batches: Iterable[pa.RecordBatch]
) -> DataFile | None:
    """None: there were no rows, and there is no file."""
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    filled = (batch for batch in batches if batch.num_rows)
    first = next(filled, None)
    if first is None:
        return None
    new_file = layout.new_file(range_, {})
    collected: list[Any] = []
    with (
        layout.open(new_file) as stream,
        parquet.ParquetWriter(
            stream, schema, compression=COMPRESSION, metadata_collector=collected
        ) as writer,
    ):
        for batch in chain([first], filled):
            writer.write_table(arrow.Table.from_batches([batch]).cast(schema))
    return layout.describe(new_file, collected[0])
