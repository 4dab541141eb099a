"""Real processes that commit and compact, killed at any moment; DuckDB counts the offsets."""

from __future__ import annotations

import random
import subprocess
import sys

import pytest

from headrace.pipeline.tables import KINDS, open_table

from .batches import JOB, commit_batch, count, count_pattern, positions_after, rows_of

KILLS = 4
BATCHES_MAX = 400
SEED = 6

WRITER = """
import sys
from headrace.pipeline.tables import open_table
from tests.unit.pipeline.tables.batches import JOB, commit_batch
with open_table(sys.argv[1], sys.argv[2], options={"sync": "false"}) as table:
    done = table.committed_batch(JOB)
    for batch_id in range(0 if done is None else done, int(sys.argv[3])):
        commit_batch(table, batch_id, parked=True)
        if batch_id % 5 == 4:
            table.compact()
        print(batch_id, flush=True)
"""


def run_and_kill(kind, root, delay_seconds):
    """Let a writer begin, and kill it so much later; every start repeats its last batch."""
    command = [sys.executable, "-c", WRITER, kind, root, str(BATCHES_MAX)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline()
        try:
            writer.wait(delay_seconds)
        except subprocess.TimeoutExpired:
            writer.kill()
        writer.communicate()


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_offset_is_there_once_after_kills(kind, tmp_path):
    chance = random.Random(SEED)
    root = str(tmp_path / "orders")
    for _ in range(KILLS):
        run_and_kill(kind, root, chance.uniform(0.02, 0.4))
        with open_table(kind, root) as table:
            batches = table.committed_batch(JOB) + 1
            assert count(table.files()) == (rows_of(batches),) * 2
            if kind == "plain":
                shown, offsets = count_pattern(root)
                assert shown == offsets
    with open_table(kind, root) as table:
        last = table.committed_batch(JOB) + 1
        assert commit_batch(table, last, parked=True)
        assert table.committed_positions(JOB) == positions_after(last)
        assert count(table.files()) == (rows_of(last + 1),) * 2
        assert count(table.parked_files()) == ((last + 1) * 2,) * 2
        if kind == "plain":
            assert count_pattern(root) == (rows_of(last + 1),) * 2
