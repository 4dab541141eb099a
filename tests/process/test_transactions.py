"""Exactly once through kills, in its short form: a pipeline with transactions loses, repeats and
shows nothing it should not.

`python -m soak transactions` does more of it, also with Java's clients.
HEADRACE_TEST_TRANSACTION_KILLS=N kills more often.
"""

from __future__ import annotations

import os

import pytest

from soak.transactions.run import TransactionsRun

KILLS = int(os.environ.get("HEADRACE_TEST_TRANSACTION_KILLS", "4"))
RECORDS_PER_KILL = 800
SEED = 20_240_611


@pytest.mark.slow
@pytest.mark.timeout(180 + 20 * KILLS)
def test_every_input_is_in_the_output_once_through_kills_of_broker_and_processors(tmp_path):
    records = RECORDS_PER_KILL * KILLS
    run = TransactionsRun(tmp_path, client="librdkafka", records=records, kills=KILLS, seed=SEED)
    result = run.run()
    result.raise_if_violated()
    assert result.report is not None
    checked = result.report.counts
    assert result.kills >= KILLS
    assert result.kills_of_broker > 0
    assert checked["records read as committed"] == records
    assert checked["sum read as committed"] == checked["sum of all results"]
    assert checked["transactions aborted on purpose"] > 0
    assert checked["of them aborted on purpose"] > 0, "the check would not see aborted records"
