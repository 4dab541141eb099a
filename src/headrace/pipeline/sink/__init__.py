"""``df.write.format("headrace")`` and ``df.writeStream.format("headrace")``.

Rows become records with the columns of Spark's Kafka sink: ``value``, and if wanted ``key``,
``topic``, ``partition``, ``headers``. A stream is written exactly once: see ``transaction.py`` and
``docs/decisions/0014-exactly-once-sink.md``. What is wrong with options or columns is said here,
before any task runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.pipeline.sink.columns import check_schema
from headrace.pipeline.sink.errors import InvalidSinkOption
from headrace.pipeline.sink.options import BATCH_ID, SINK_ID, Delivery, parse_options
from headrace.pipeline.sink.writers import BatchWriter, StreamWriter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql.types import StructType

__all__ = ["make_stream_writer", "make_writer"]


def make_writer(options: Mapping[str, str], schema: StructType, overwrite: bool) -> BatchWriter:
    """For ``df.write``: at least once unless asked otherwise, as Spark's Kafka sink."""
    if overwrite:
        raise InvalidSinkOption('a topic cannot be overwritten: use mode("append")')
    parsed = parse_options(options, Delivery.AT_LEAST_ONCE)
    check_schema(schema, parsed.topic)
    return BatchWriter(parsed)


def make_stream_writer(
    options: Mapping[str, str], schema: StructType, overwrite: bool
) -> StreamWriter:
    """For ``df.writeStream``: exactly once unless asked otherwise.

    ``overwrite`` is Spark's word for the output mode "complete". A topic is not emptied for it: all
    rows of the result are appended in each batch.
    """
    parsed = parse_options(options, Delivery.EXACTLY_ONCE)
    if parsed.sink_id is not None:
        raise InvalidSinkOption(f"{SINK_ID} and {BATCH_ID} are for batches; a query has its own")
    check_schema(schema, parsed.topic)
    return StreamWriter(parsed)
