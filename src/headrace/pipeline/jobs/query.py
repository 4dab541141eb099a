"""A job with a transform of Spark: a SQL query or a Python function between source and sink.

Batch by batch, by a streaming query. Into a topic the sink of ``format("headrace")`` writes exactly
once. Into a table the batch's id goes into the table's commit, so that a batch which is repeated
after a fault is written once (``table_sink``).
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from headrace.pipeline.jobs.errors import InvalidDefinition
from headrace.pipeline.jobs.fault import first_line, maybe_fault_in
from headrace.pipeline.jobs.progress import from_query

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.pipeline.jobs.definition import JobDefinition
    from headrace.pipeline.jobs.run import JobContext

VIEW = "source"
"""What the records are called in SQL."""
WAIT_SECONDS = 0.5


def run_query(context: JobContext) -> None:
    """Until all is taken, or ``should_stop``; an error of the query is raised."""
    definition = context.definition
    sink = definition.sink
    reader = context.spark.readStream.format("headrace")
    with mistakes_named():
        records = reader.options(**definition.source.reader_options()).load()
        writer = _with_trigger(context, transformed(records, definition).writeStream)
    if sink.is_table:
        _into_table(context, writer)
        return
    with mistakes_named():
        query = writer.format(sink.format).options(**topic_options(definition)).start()
    attend(context, query)


def _into_table(context: JobContext, writer: Any) -> None:
    from headrace.pipeline.jobs.table_sink import TableSink

    sink = context.definition.sink
    table = TableSink(
        context.definition.name,
        sink.format,
        sink.target,
        sink.options,
        checkpoint_id=partial(checkpoint_id, context.spark, context.checkpoint),
        is_compacting=sink.compact,
    )
    told = context._replace(
        on_progress=lambda progress: context.on_progress(
            progress._replace(**table.take_written()._asdict())
        )
    )
    try:
        with mistakes_named():
            query = writer.foreachBatch(table.write).start()
        attend(told, query)
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


def checkpoint_id(spark: Any, checkpoint: str) -> str:
    """What Spark calls the query of this checkpoint: another checkpoint, another id."""
    (line,) = spark.read.text(f"{checkpoint}/metadata").first()
    return str(json.loads(line)["id"])


@contextmanager
def mistakes_named() -> Iterator[None]:
    """A query that Spark does not understand is a mistake in the definition: no try can heal it."""
    from pyspark.errors import AnalysisException

    try:
        yield
    except AnalysisException as error:
        text = str(error)
        if maybe_fault_in(text) is not None:
            raise  # ours, from a process of Spark's: it knows itself whether to try again
        raise InvalidDefinition(f"Spark refuses the query: {first_line(text)}") from error


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
    frame = load_function(transform.python)(records)
    if not hasattr(frame, "writeStream"):
        raise InvalidDefinition(
            f"transform.python: {transform.python} returned {type(frame).__name__}, "
            "not a data frame"
        )
    return frame


def load_function(name: str) -> Any:
    """``package.module:function``; InvalidDefinition if there is none."""
    module, _, attribute = name.partition(":")
    try:
        imported = import_module(module)
    except Exception as error:  # whatever somebody's module does when it is imported
        raise InvalidDefinition(
            f"transform.python: {module} cannot be imported: {type(error).__name__}: {error}; "
            "name its file in transform.files"
        ) from error
    if not hasattr(imported, attribute):
        raise InvalidDefinition(f"transform.python: {module} has no {attribute}")
    function = getattr(imported, attribute)
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
