"""The example ends well only if every record is in the lake once; its report must be there, too."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1_200)]

EXAMPLE = Path(__file__).parents[2] / "examples" / "lake"
RECORDS = 1_000
RUN_SECONDS_MAX = 1_100.0


def test_three_producers_fill_one_lake_and_a_report_is_made(tmp_path: Path) -> None:
    command = [sys.executable, str(EXAMPLE / "run.py"), "--records", str(RECORDS)]
    ended = subprocess.run(
        [*command, "--out", str(tmp_path / "out")],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=RUN_SECONDS_MAX,
    )
    assert ended.returncode == 0, ended.stdout
    plots = list((tmp_path / "out" / "report").glob("*.png"))
    assert plots, ended.stdout
