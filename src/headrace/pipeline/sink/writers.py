"""The writers that Spark calls: ``write`` in every task, ``commit`` or ``abort`` in the driver.

Spark makes a stream writer anew for every call, so it holds nothing but options. Tasks learn from
Spark which query and which batch they belong to, and the driver learns it from their messages.
"""

from __future__ import annotations

import posixpath
import uuid
from typing import TYPE_CHECKING

from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)

from headrace.model.errors import InternalError
from headrace.pipeline.sink.direct import send
from headrace.pipeline.sink.options import Delivery
from headrace.pipeline.sink.staging import (
    StagedPiece,
    remove_batches,
    remove_directory,
    remove_orphans,
    remove_pieces,
    stage,
)
from headrace.pipeline.sink.transaction import TransactionalSink, write_next

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from headrace.pipeline.sink.options import SinkOptions

QUERY_ID = "sql.streaming.queryId"
BATCH_ID = "streaming.sql.batchId"
JOB_PREFIX = "job-"


class TaskMessage(WriterCommitMessage):
    """What a task tells the driver: how many rows, whose they are, and where, if they wait."""

    def __init__(self, rows: int, owner: str, piece: StagedPiece | None) -> None:
        self.rows = rows
        self.owner = owner
        self.piece = piece


class StreamWriter(DataSourceStreamArrowWriter):
    """Of ``writeStream``. The sink bears the id of the query, which lives in its checkpoint."""

    def __init__(self, options: SinkOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        if self._options.delivery is Delivery.AT_LEAST_ONCE:
            return _send(iterator, self._options)
        query_id, batch_id = _local_property(QUERY_ID), _local_property(BATCH_ID)
        return _stage(iterator, self._options, query_id, batch_id)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        owner, pieces = _staged(messages)
        if owner is None:
            return
        if any(piece.rows for piece in pieces):
            write_next(self._options.kafka, owner, pieces, batchId)
        remove_batches(posixpath.join(self._options.staging_url, owner), batchId)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        remove_pieces(_staged(messages)[1])


class BatchWriter(DataSourceArrowWriter):
    """Of ``write``. With exactly once, a job is one transaction; ``headrace.sink.id`` and
    ``headrace.batch.id`` make it one that is not repeated when the job is."""

    def __init__(self, options: SinkOptions) -> None:
        self._options = options
        # The same in the driver and in all tasks: this object is sent to them.
        self._owner = JOB_PREFIX + uuid.uuid4().hex

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        if self._options.delivery is Delivery.AT_LEAST_ONCE:
            return _send(iterator, self._options)
        return _stage(iterator, self._options, self._owner, str(self._options.batch_id))

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        owner, pieces = _staged(messages)
        if owner is None:
            return
        if any(piece.rows for piece in pieces):
            sink_id = self._options.sink_id
            sink = TransactionalSink(
                self._options.kafka, sink_id or owner, is_repeatable=sink_id is not None
            )
            sink.write(pieces, self._options.batch_id)
        self._remove()

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        if self._options.delivery is Delivery.EXACTLY_ONCE:
            self._remove()

    def _remove(self) -> None:
        location = self._options.staging_url
        remove_directory(posixpath.join(location, self._owner))
        remove_orphans(location, JOB_PREFIX)


def _send(batches: Iterator[pa.RecordBatch], options: SinkOptions) -> TaskMessage:
    return TaskMessage(send(batches, options.topic, options.kafka), "", None)


def _stage(
    batches: Iterator[pa.RecordBatch], options: SinkOptions, owner: str, batch_id: str
) -> TaskMessage:
    # Attempts of one task run side by side and one after the other: each has a file of its own.
    url = posixpath.join(options.staging_url, owner, batch_id, f"{uuid.uuid4().hex}.arrow")
    piece = stage(batches, options.topic, url, options.inline_bytes)
    return TaskMessage(piece.rows, owner, piece)


def _local_property(name: str) -> str:
    context = TaskContext.get()
    value = context.getLocalProperty(name) if context is not None else None
    if value is None:
        raise InternalError(f"Spark does not tell its tasks {name}: exactly once is not possible")
    return value


def _staged(
    messages: Sequence[WriterCommitMessage | None],
) -> tuple[str | None, list[StagedPiece]]:
    """Whose the staged rows are, and the rows, in the order of Spark's partitions."""
    found = [m for m in messages if isinstance(m, TaskMessage) and m.piece is not None]
    owners = {message.owner for message in found}
    if len(owners) > 1:
        raise InternalError(f"one batch of several queries: {', '.join(sorted(owners))}")
    return next(iter(owners), None), [m.piece for m in found if m.piece is not None]
