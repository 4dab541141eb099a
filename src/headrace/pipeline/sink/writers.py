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


class StagedMessage(WriterCommitMessage):
    """What a task tells the driver: where its rows wait, and of which query they are, if any."""

    def __init__(self, query_id: str, piece: StagedPiece) -> None:
        self.query_id = query_id
        self.piece = piece


class StreamWriter(DataSourceStreamArrowWriter):
    """Of ``writeStream``. The sink bears the id of the query, which lives in its checkpoint."""

    def __init__(self, options: SinkOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        if self._options.delivery is Delivery.AT_LEAST_ONCE:
            return _send(iterator, self._options)
        query_id, batch_id = _local_property(QUERY_ID), _local_property(BATCH_ID)
        if not query_id or not batch_id:
            raise InternalError(
                f"Spark does not tell its tasks {QUERY_ID} and {BATCH_ID}: exactly once is not"
                " possible"
            )
        return StagedMessage(query_id, _stage(iterator, self._options, query_id, batch_id))

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        query_id, pieces = _staged(messages)
        if not pieces:
            return
        if any(piece.rows for piece in pieces):
            write_next(self._options.kafka, query_id, pieces, batchId)
        location = self._options.staging_url
        remove_batches(posixpath.join(location, query_id), batchId)
        remove_orphans(location)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        remove_pieces(_staged(messages)[1])


class BatchWriter(DataSourceArrowWriter):
    """Of ``write``. With exactly once, a job is one transaction; ``headrace.sink.id`` and
    ``headrace.batch.id`` make it one that is not repeated when the job is."""

    def __init__(self, options: SinkOptions) -> None:
        self._options = options
        # The same in the driver and in all tasks: this object is sent to them.
        self._job_id = str(uuid.uuid4())

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        if self._options.delivery is Delivery.AT_LEAST_ONCE:
            return _send(iterator, self._options)
        piece = _stage(iterator, self._options, self._job_id, str(self._options.batch_id))
        # Inside of foreachBatch there is a query.
        return StagedMessage(_local_property(QUERY_ID), piece)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        query_id, pieces = _staged(messages)
        if any(piece.rows for piece in pieces):
            sink_id = self._options.sink_id
            sink = TransactionalSink(
                self._options.kafka,
                sink_id or self._job_id,
                query_id,
                is_repeatable=sink_id is not None,
            )
            sink.write(pieces, self._options.batch_id)
        self._tidy()

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        self._tidy()

    def _tidy(self) -> None:
        if self._options.delivery is Delivery.EXACTLY_ONCE:
            location = self._options.staging_url
            remove_directory(posixpath.join(location, self._job_id))
            remove_orphans(location)


def _send(batches: Iterator[pa.RecordBatch], options: SinkOptions) -> WriterCommitMessage:
    send(batches, options.topic, options.kafka)
    return WriterCommitMessage()


def _stage(
    batches: Iterator[pa.RecordBatch], options: SinkOptions, owner: str, batch_id: str
) -> StagedPiece:
    # Attempts of one task run side by side and one after the other: each has a file of its own.
    url = posixpath.join(options.staging_url, owner, batch_id, f"{uuid.uuid4().hex}.arrow")
    return stage(batches, options.topic, url, options.inline_bytes)


def _local_property(name: str) -> str:
    """What Spark tells the tasks of a query about it; nothing outside of one."""
    context = TaskContext.get()
    return (context.getLocalProperty(name) if context is not None else None) or ""


def _staged(messages: Sequence[WriterCommitMessage | None]) -> tuple[str, list[StagedPiece]]:
    """The query that the rows are of, and the rows, in the order of Spark's partitions."""
    found = [message for message in messages if isinstance(message, StagedMessage)]
    queries = {message.query_id for message in found}
    if len(queries) > 1:
        raise InternalError(f"one batch of several queries: {', '.join(sorted(queries))}")
    return next(iter(queries), ""), [message.piece for message in found]
