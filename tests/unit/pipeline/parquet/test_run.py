"""The doors of the engine; what is behind them is tested with a real Spark."""

from __future__ import annotations

import pytest

from headrace.model.errors import InvalidConfig
from headrace.pipeline.parquet import run_parquet, stream_parquet

from .fake_log import settings_of


def test_spark_connect_is_refused() -> None:
    for door in (run_parquet, stream_parquet):
        with pytest.raises(InvalidConfig, match="Spark Connect"):
            door(object(), settings_of("t"))  # type: ignore[arg-type]
