"""Runs one job in this process: a Spark session, a checkpoint that is this job's, the work.

Each kind of job is one function that takes the same ``JobContext``; it returns when the job has
taken all there is, or soon after ``should_stop`` says so.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.pipeline.jobs.checkpoint import checkpoint_identity, claim_checkpoint
from headrace.pipeline.jobs.lag_group import LagGroup
from headrace.pipeline.jobs.progress import JobProgress, from_engine

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.pipeline.jobs.definition import JobDefinition

log = logging.getLogger(__name__)


class _Stopped(Exception):
    """Ends a job that would go on to the end of what is there, between two of its batches."""


class JobContext(NamedTuple):
    """What a job is run with."""

    spark: Any
    definition: JobDefinition
    """With the environment's values filled in."""
    checkpoint: str
    on_progress: Callable[[JobProgress], None]
    should_stop: Callable[[], bool]


def run_job(context: JobContext) -> None:
    """Check whose checkpoint it is, then do what the kind of job says."""
    definition = context.definition
    claim_checkpoint(context.checkpoint, checkpoint_identity(definition, _cluster_id(definition)))
    log.info("%s job %s begins", definition.kind, definition.name)
    KINDS[definition.kind](_with_lag_group(context))
    log.info("job %s has come to its end", definition.name)


def session_for(definition: JobDefinition, master: str | None = None) -> Any:
    """The Spark session of a job."""
    from headrace.pipeline.session import spark_session

    return spark_session(
        f"headrace {definition.name}", master or definition.master, definition.spark
    )


def _run_parquet(context: JobContext) -> None:
    from headrace.pipeline import parquet

    definition = context.definition
    settings = parquet_settings(definition)

    def on_progress(progress: Any) -> None:
        context.on_progress(from_engine(progress))
        if not definition.follows and context.should_stop():
            raise _Stopped

    if definition.follows:
        parquet.stream_parquet(
            context.spark, settings, on_progress=on_progress, should_stop=context.should_stop
        )
        return
    try:
        parquet.run_parquet(context.spark, settings, on_progress=on_progress)
    except _Stopped:
        log.info("stopped before the end of what was there")


def parquet_settings(definition: JobDefinition) -> Any:
    """The engine's settings for a job."""
    from headrace.pipeline import parquet

    sink = definition.sink
    seconds = sink.trigger_seconds
    return parquet.ParquetSettings(
        job=definition.name,
        source=definition.source.reader_options(),
        target=sink.target,
        table=sink.format,
        decoding=sink.decoding_options(),
        partition_by=sink.partition_by,
        compact=sink.compact,
        options=dict(sink.options),
        trigger_seconds=seconds or 0.0,  # of a job that follows; the others never wait
    )


def _run_function(context: JobContext) -> None:
    from headrace.pipeline import functions
    from headrace.pipeline.jobs.query import attend

    definition = context.definition
    source, sink, transform = definition.source, definition.sink, definition.transform
    assert transform.python is not None, "checked with the definition"
    # The file decides where records come from and go to; the function's own words are a default.
    job = replace(
        functions.load(transform.python),
        name=definition.name,
        source=",".join(source.topics),
        sink=sink.target,
    )
    seconds = sink.trigger_seconds
    settings = functions.RunSettings(
        kafka=source.client_settings(),
        checkpoint=context.checkpoint,
        source=source.reader_options(),
        sink=dict(sink.options),
        interval=None if seconds is None else f"{round(seconds * 1_000)} milliseconds",
        is_bounded=seconds is None,
    )
    attend(context, functions.start(context.spark, job, settings))


def _run_query(context: JobContext) -> None:
    from headrace.pipeline.jobs.query import run_query

    run_query(context)


KINDS: dict[str, Callable[[JobContext], None]] = {
    "parquet": _run_parquet,
    "sql": _run_query,
    "function": _run_function,
}


def _cluster_id(definition: JobDefinition) -> str:
    from headrace.pipeline.broker_view import BrokerView

    view = BrokerView(definition.source.client_settings())
    try:
        return view.cluster_id()
    finally:
        view.close()


def _with_lag_group(context: JobContext) -> JobContext:
    """Let each batch also show its positions, if the job has a group for that."""
    definition = context.definition
    if definition.group is None:
        return context
    group = LagGroup(definition.group, definition.source.client_settings())

    def on_progress(progress: JobProgress) -> None:
        group.write(progress.positions)
        context.on_progress(progress)

    return context._replace(on_progress=on_progress)
