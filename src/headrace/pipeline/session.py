"""A Spark session as the pipeline needs it, on whatever Java there is.

Everything set here is a default: what the caller, ``spark-submit`` or the environment says wins.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from headrace.model.errors import PackageNotInstalled
from headrace.pipeline import register
from headrace.pipeline.java import EXTRA, find_java

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

# Every core, and four attempts for each task: with plain `local` one dead worker ends the query.
DEFAULT_MASTER = "local[*,4]"

DEFAULT_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    # The default is INT96, which has no statistics: a range of time would read every file.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}

# The machine's name need not resolve to an address of its own, and nobody else connects.
LOCAL_SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}

SUBMITTED_VARIABLE = "PYSPARK_GATEWAY_PORT"  # `spark-submit` has started Java already


def spark_session(
    app_name: str, master: str | None = None, settings: Mapping[str, str] | None = None
) -> SparkSession:
    """The session of this process with ``format("headrace")`` registered; made if there is none.

    ``settings`` are Spark's own, by their full names. Without ``master`` it is every core of this
    machine, or what ``spark-submit`` was given.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise PackageNotInstalled("the data pipeline", "pyspark", EXTRA) from error
    is_submitted = SUBMITTED_VARIABLE in os.environ
    if not is_submitted:
        os.environ["JAVA_HOME"] = find_java().home
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(app_name)
    for name, value in session_settings(master, settings or {}, is_submitted).items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    register(spark)
    return spark


def session_settings(
    master: str | None, settings: Mapping[str, str], is_submitted: bool
) -> dict[str, str]:
    """All settings of a session, those of the caller last."""
    chosen = master or settings.get("spark.master") or (None if is_submitted else DEFAULT_MASTER)
    result = dict(DEFAULT_SETTINGS)
    if chosen is not None:
        result["spark.master"] = chosen
        if chosen.startswith("local"):
            result.update(LOCAL_SETTINGS)
    return {**result, **settings, **({"spark.master": master} if master else {})}
