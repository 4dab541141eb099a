"""The saga of the examples, as a reader would start it: it converges though services are killed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "examples" / "saga" / "run.py"
ORDERS = 30
KILLS = 4
SECONDS_MAX = 170


@pytest.mark.timeout(SECONDS_MAX + 10)
def test_orders_end_confirmed_or_cancelled_with_nothing_amiss(tmp_path):
    command = [sys.executable, str(SCRIPT), "--orders", str(ORDERS), "--kills", str(KILLS)]
    command += ["--between-seconds-max", "1"]
    ended = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS_MAX, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    lines = ended.stdout.splitlines()
    assert sum(line.startswith("order-") for line in lines) == ORDERS
    assert sum(line.startswith("kill -9 ") for line in lines) == KILLS
    assert lines[-1] == "all invariants hold"
