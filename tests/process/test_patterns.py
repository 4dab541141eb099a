"""The outbox through kills, in its short form on SQLite: every committed row's message once.

`python -m soak patterns --database postgresql` does more of it, and the saga.
"""

from __future__ import annotations

import os

import pytest

from headrace.testing.history import Fault
from soak.patterns.databases import url_pattern
from soak.patterns.outbox_run import DATABASES, OutboxRun
from soak.patterns.verdict import Received, judge

KILLS = int(os.environ.get("HEADRACE_TEST_OUTBOX_KILLS", "4"))
SEED = 7


@pytest.mark.slow
@pytest.mark.timeout(180 + 20 * KILLS)
def test_every_row_is_sent_and_handled_once_through_kills_of_all_parties(tmp_path):
    with url_pattern("sqlite", tmp_path / "databases", DATABASES) as pattern:
        result = OutboxRun(tmp_path / "run", pattern, kills=KILLS, seed=SEED).run()
    assert result.failures == []
    assert result.kills.total() == KILLS
    assert result.report is not None
    result.report.raise_if_violated()
    counts = result.report.counts
    assert counts["rows committed"] > 10 * KILLS
    assert counts["messages in the topic"] == counts["rows committed"]
    assert counts["messages handled at the far end"] == counts["rows committed"]


CLEAN = ({1: 3}, {1: [1, 2, 3]}, {1: Received(3, 6)})


@pytest.mark.parametrize(
    ("versions", "sent", "received", "faults"),
    [
        (*CLEAN, {}),
        ({1: 3}, {1: [1, 3]}, {1: Received(3, 6)}, {Fault.LOST: 1}),
        ({1: 3}, {1: [1, 2, 2, 3]}, {1: Received(3, 6)}, {Fault.DUPLICATED: 1}),
        ({1: 3}, {1: [1, 3, 2]}, {1: Received(3, 6)}, {Fault.REORDERED: 1}),
        ({1: 2}, {1: [1, 2, 3]}, {1: Received(2, 3)}, {Fault.PHANTOM: 1}),
        ({1: 3}, {1: [1, 2, 3]}, {1: Received(4, 9)}, {Fault.DUPLICATED: 1}),
        ({1: 3}, {1: [1, 2, 3]}, {}, {Fault.LOST: 1}),
        ({}, {2: [1]}, {}, {Fault.PHANTOM: 1}),
    ],
)
def test_the_judge_of_rows_and_messages_finds(versions, sent, received, faults):
    assert judge(versions, sent, received).violations == faults
