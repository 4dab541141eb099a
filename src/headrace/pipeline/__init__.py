"""The data pipeline: topics as tables, on Spark.

Importing this package costs nothing: pyspark and the rest of ``headrace[spark]`` are imported by
the modules that use them, never by the broker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: SparkSession) -> None:
    """Make ``format("headrace")`` known to a session, as source and as sink."""
    from headrace.pipeline.source.data_source import HeadraceDataSource

    spark.dataSource.register(HeadraceDataSource)
