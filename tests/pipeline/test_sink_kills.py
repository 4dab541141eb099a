"""A job from topic to topic, hit once by kill -9: the short form of
`python -m soak pipeline --job topic`, which does it twenty times.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from soak.pipeline.run import PipelineRun
from soak.pipeline.work import TOPIC, VICTIMS

if TYPE_CHECKING:
    from pathlib import Path

# Each test starts a Spark of its own, and after the kill of a driver another one.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.mark.parametrize("victim", VICTIMS)
def test_each_record_is_in_the_topic_once(tmp_path: Path, victim: str) -> None:
    result = PipelineRun(tmp_path, job=TOPIC, victim=victim, kills=1, seed=6).run()
    result.raise_if_violated()
    assert result.kills == 1
    assert list((tmp_path / "checkpoint").rglob("*.arrow")) == [], "staged rows are left over"
