"""Transforms that jobs of tests name: ``tests.pipeline.transforms:large``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.pipeline.functions import Record, function

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def even(records: DataFrame) -> DataFrame:
    """Of a SQL job."""
    return records.where("offset % 2 = 0").select("key", "value")


@function(source="any", sink="other")
def louder(record: Record) -> Any:
    """Of a function job."""
    return (record.value or b"").upper()
