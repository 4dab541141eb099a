"""A Python function from one topic to another, run as a Spark job, exactly once.

from headrace.pipeline.functions import Record, function, RunSettings, start

@function(source="orders", sink="large-orders")
def large(record: Record) -> bool: ...

start(spark, large, RunSettings({"bootstrap.servers": "localhost:9092"}, "/jobs/large"))
"""

from __future__ import annotations

from headrace.pipeline.functions.definition import (
    OnError,
    StreamFunction,
    WindowedCount,
    function,
    load,
)
from headrace.pipeline.functions.lookup import FileTable, TopicTable
from headrace.pipeline.functions.record import Record
from headrace.pipeline.functions.running import RunSettings, start

__all__ = [
    "FileTable",
    "OnError",
    "Record",
    "RunSettings",
    "StreamFunction",
    "TopicTable",
    "WindowedCount",
    "function",
    "load",
    "start",
]
