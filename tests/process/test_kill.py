"""kill -9 under load, again and again: what was acknowledged is there, once and in order.

HEADRACE_TEST_KILL_CYCLES=N repeats it more often; `python -m soak kill` shows more of it.
"""

from __future__ import annotations

import os

import pytest

from soak.kill import KillRun

CYCLES = int(os.environ.get("HEADRACE_TEST_KILL_CYCLES", "30"))
SEED = 20_240_611
CYCLES_OF = {"page-cache": CYCLES - CYCLES // 2, "fsync": CYCLES // 2}


@pytest.mark.slow
@pytest.mark.timeout(120 + 10 * CYCLES)
@pytest.mark.parametrize("durability", ["page-cache", "fsync"])
def test_nothing_acknowledged_is_lost(durability: str, tmp_path):
    cycles = CYCLES_OF[durability]
    run = KillRun(tmp_path / "data", durability=durability, cycles=cycles, seed=SEED)
    result = run.run()
    result.raise_if_violated()
    assert result.report is not None
    checked = result.report.counts
    assert result.kills >= result.cycles == cycles
    assert checked["records with unknown outcome"] == 0, "all producers got all their answers"
    assert checked["records acknowledged"] > 500 * cycles
    assert checked["records read in scans of the log"] > checked["records acknowledged"] // 3
    assert checked["commits checked"] > cycles
    assert checked["metadata checked"] > cycles
