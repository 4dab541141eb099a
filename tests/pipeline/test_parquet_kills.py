"""Jobs into tables of all kinds, each hit once by kill -9: the short form of
`python -m soak pipeline`, which does it twenty times for every kind of victim.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from soak.pipeline.run import PipelineRun

if TYPE_CHECKING:
    from pathlib import Path

# Each test starts a Spark of its own, and after the kill of a driver another one.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.mark.parametrize(
    ("table", "victim"), [("plain", "driver"), ("delta", "worker"), ("iceberg", "broker")]
)
def test_each_record_is_in_the_table_once(tmp_path: Path, table: str, victim: str) -> None:
    result = PipelineRun(tmp_path, job=table, victim=victim, kills=1, seed=6).run()
    result.raise_if_violated()
    assert result.kills == 1
