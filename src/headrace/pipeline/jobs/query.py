"""A job with a transform of Spark: a SQL query or a Python function between source and sink.

Batch by batch, by a streaming query. Into a topic the sink of ``format("headrace")`` writes exactly
once. Into a table the batch's id goes into the table's commit, so that a batch which is repeated
after a fault is written once (``table_sink``).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from headrace.pipeline.jobs.errors import InvalidDefinition
from headrace.pipeline.jobs.progress import from_query

if TYPE_CHECKING:
    from headrace.pipeline.jobs.definition import JobDefinition
    from headrace.pipeline.jobs.run import JobContext

VIEW = "source"
"""What the records are called in SQL."""
WAIT_SECONDS = 0.5


def run_query(context: JobContext) -> None:
    """Until all is taken, or ``should_stop``; an error of the query is raised."""
    definition = context.definition
    reader = context.spark.readStream.format("headrace")
    records = reader.options(**definition.source.reader_options()).load()
    writer = _with_trigger(context, transformed(records, definition).writeStream)
    sink = definition.sink
    if not sink.is_table:
        attend(context, writer.format(sink.format).options(**topic_options(definition)).start())
        return
    from headrace.pipeline.jobs.table_sink import TableSink

    table = TableSink(definition.name, sink.format, sink.target, sink.options)
    try:
        told = context._replace(
            on_progress=lambda progress: context.on_progress(
                progress._replace(**table.take_written()._asdict())
            )
        )
        attend(told, writer.foreachBatch(table.write).start())
    finally:
        table.close()


def attend(context: JobContext, query: Any) -> None:
    """Until the query ends or ``should_stop``; tell what its batches did."""
    seen = -1
    try:
        while not query.awaitTermination(WAIT_SECONDS):
            seen = _tell(context, query, seen)
            if context.should_stop():
                return
        _tell(context, query, seen)
    finally:
        query.stop()


def topic_options(definition: JobDefinition) -> dict[str, str]:
    """Of the sink: where it connects as the source does, it also logs in as the source does."""
    source, sink = definition.source, definition.sink
    if sink.bootstrap is not None:
        connection = {"kafka.bootstrap.servers": sink.bootstrap}
    else:
        connection = {f"kafka.{name}": value for name, value in source.client_settings().items()}
    return {**connection, "topic": sink.target, **sink.options}


def transformed(records: Any, definition: JobDefinition) -> Any:
    """The frame that is written."""
    transform = definition.transform
    if transform.sql is not None:
        records.createOrReplaceTempView(VIEW)
        return records.sparkSession.sql(transform.sql)
    assert transform.python is not None, "checked with the definition"
    return load_function(transform.python)(records)


def load_function(name: str) -> Any:
    """``package.module:function``; InvalidDefinition if there is none."""
    module, _, attribute = name.partition(":")
    try:
        function = getattr(import_module(module), attribute)
    except ImportError as error:
        raise InvalidDefinition(
            f"transform.python: {module} cannot be imported: {error}"
        ) from error
    except AttributeError as error:
        raise InvalidDefinition(f"transform.python: {module} has no {attribute}") from error
    if not callable(function):
        raise InvalidDefinition(f"transform.python: {name} is no function")
    return function


def _with_trigger(context: JobContext, writer: Any) -> Any:
    seconds = context.definition.sink.trigger_seconds
    writer = writer.queryName(context.definition.name)
    writer = writer.option("checkpointLocation", context.checkpoint)
    if seconds is None:
        return writer.trigger(availableNow=True)
    return writer.trigger(processingTime=f"{round(seconds * 1_000)} milliseconds")


def _tell(context: JobContext, query: Any, seen: int) -> int:
    """Report batches that were finished since the last look."""
    for progress in query.recentProgress:
        if progress["batchId"] > seen:
            seen = progress["batchId"]
            context.on_progress(from_query(progress))
    return seen
